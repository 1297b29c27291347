"""Can a promise for a year be had for less? Guides chosen otherwise, on small-business loans with XGBoost.

``python -m experiments.hold.price`` replays the years from 1994 with several panels, and with ``--write`` writes
``results/price.json`` of what is there. ``--bases 1994,1995 --panels usual,resamples`` replays some, so that
processes can share the work; what is kept in ``--keep`` is not computed again. Which panel is best is read from
the years to 1999 (`EARLY`) alone; the later years judge it.

All panels were asked of the years to 1997, seven of 1998 and 1999, and of later years ``--panels
"usual,resamples,resamples spared 3,clairvoyant"``.

``clairvoyant`` is no panel but the least that anybody could pay: the cheapest recourse that the model and next
year's model itself accept.
"""

import argparse
import json
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import made_with
from experiments.hold.sba import LAST, RESULTS, TERMS, recipe, years
from holdtrue._cache import use_cache
from holdtrue._json import to_json, write_result
from holdtrue.batch import Predictor, wrap
from holdtrue.hold import Holding
from holdtrue.methods import Level, RecourseFrame, SparseSearch
from holdtrue.retraining import AbstractRetrained, retrain
from holdtrue.schema import Restrictions, Schema
from holdtrue.search import is_found

FIRST = 1990
YEARS = [str(year) for year in range(1994, 2009)]
EARLY = tuple(str(year) for year in range(1994, 2000))
WINDOW, PAST = 3, 5
SLACKS = (-1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
SEED = 20_261_116


@dataclass(frozen=True)
class Panel:
    """How guides are drawn: so many resamples of the window, so many of single years, and how many are spared."""

    alike: int
    singles: int
    past: int = PAST
    spared: int = 0


PANELS = {
    "usual": Panel(10, 20),
    "spared 1": Panel(10, 20, spared=1),
    "spared 3": Panel(10, 20, spared=3),
    "spared 6": Panel(10, 20, spared=6),
    "spared 10": Panel(10, 20, spared=10),
    "single years": Panel(0, 30),
    "single years spared 3": Panel(0, 30, spared=3),
    "resamples": Panel(30, 0),
    "resamples spared 3": Panel(30, 0, spared=3),
    "last two years": Panel(10, 20, past=2),
    "last three years": Panel(10, 20, past=3),
    "more resamples": Panel(20, 10),
    "half as many": Panel(5, 10),
    "twice as many": Panel(20, 40),
    "twice as many spared 6": Panel(20, 40, spared=6),
}
CLAIRVOYANT = "clairvoyant"


@dataclass
class Past:
    """The years, with models of windows as they are first asked for."""

    periods: dict[str, tuple[Any, np.ndarray]]
    schema: Schema
    people: int
    models: dict[str, Predictor]
    pool: dict[str, AbstractRetrained]

    @classmethod
    def read(cls, people: int) -> "Past":
        """All years from the first."""
        periods, schema = years(FIRST)
        import pandas as pd

        schema = schema.resolve(pd.concat([X for _, X, _ in periods], ignore_index=True))
        return cls({label: (X, y) for label, X, y in periods}, schema, people, {}, {})

    def rows(self, year: str) -> tuple[Any, np.ndarray]:
        """What the model of a year learns from."""
        import pandas as pd

        some = [self.periods[str(int(year) - back)] for back in reversed(range(WINDOW))]
        return pd.concat([X for X, _ in some], ignore_index=True), np.concatenate([y for _, y in some])

    def model(self, year: str) -> Predictor:
        """The model of the window that ends with a year."""
        if year not in self.models:
            X, y = self.rows(year)
            self.models[year] = wrap(recipe("xgboost").fit(X, y), self.schema, X)
        return self.models[year]

    def alike(self, year: str, n: int) -> AbstractRetrained | None:
        """Resamples of the window."""
        if n == 0:
            return None
        most = max(panel.alike for panel in PANELS.values())
        if f"alike {year}" not in self.pool:
            X, y = self.rows(year)
            self.pool[f"alike {year}"] = retrain(self.model(year), X, y, n=most, vary="anew", random_state=SEED)
        return self.pool[f"alike {year}"].take(np.arange(n))

    def singles(self, year: str, n: int, past: int) -> AbstractRetrained | None:
        """Resamples of single years, in turn, from the year itself back."""
        if n == 0:
            return None
        whose = [str(int(year) - i % past) for i in range(n)]
        for i, single in enumerate(whose):
            key = f"{year} of {single}, {i // past}"
            if key not in self.pool:
                X, y = self.periods[single]
                rng = np.random.default_rng([SEED, int(single), i // past])
                rows = np.sort(rng.integers(0, len(y), len(y)))
                table = X.iloc[rows].reset_index(drop=True), y[rows]
                self.pool[key] = retrain(self.model(year), n=1, tables=[table], random_state=SEED)
        out = self.pool[f"{year} of {whose[0]}, 0"]
        for i, single in enumerate(whose[1:], start=1):
            out = out.join(self.pool[f"{year} of {single}, {i // past}"])
        return out

    def guides(self, year: str, name: str) -> AbstractRetrained:
        """The guides of a panel."""
        if name == CLAIRVOYANT:
            return retrain(self.model(year), n=1, tables=[self.rows(str(int(year) + 1))], random_state=SEED)
        panel = PANELS[name]
        parts = (self.alike(year, panel.alike), self.singles(year, panel.singles, panel.past))
        some = [part for part in parts if part is not None]
        return some[0] if len(some) == 1 else some[0].join(some[1])


def replayed(past: Past, year: str, name: str) -> list[dict[str, Any]]:
    """Offers of a year at every slack, the cheapest first, with what later models said."""
    predictor = past.model(year)
    frame, _ = past.periods[year]
    table = past.schema.check(frame)
    refused = np.flatnonzero(predictor.decide(table) != predictor.decision.favourable)
    if len(refused) > past.people:
        refused = np.sort(np.random.default_rng(int(year)).choice(refused, past.people, replace=False))
    table, guides = table.take(refused), past.guides(year, name)
    method = Holding(base=SparseSearch(max_changes=3), random_state=0)
    X, y = past.rows(year)
    method.fit(predictor, X, y, guides=guides, judges=guides, level=Level(0.5, 0.0))  # nobody is judged by them
    target = np.full(table.n_rows, predictor.decision.favourable)
    problems = method.problems(table, target, Restrictions())
    solution = method.panel_search.base.answers(problems, None, None)
    reachable = is_found(solution.status)
    least = method.panel_search.cost(problems.x, solution.x)
    out = [_offer(past, year, None, _told(method, solution, table, target), least, reachable)]
    spared = 0 if name == CLAIRVOYANT else PANELS[name].spared
    for slack in (0.0,) if name == CLAIRVOYANT else SLACKS:
        solution = method.panel_search.guided(problems, solution, slack, spared=spared, fallback=False)
        out.append(_offer(past, year, slack, _told(method, solution, table, target), least, reachable))
    return out


def _told(method: Holding, solution: Any, table: Any, target: np.ndarray) -> RecourseFrame:
    return method.unjudged(solution, table, target)


def _offer(
    past: Past, year: str, slack: float | None, plan: RecourseFrame, least: np.ndarray, reachable: np.ndarray
) -> dict[str, Any]:
    some = plan.found
    kept = {}
    for term in TERMS:
        later = str(int(year) + term)
        if int(later) <= LAST and some.any():
            judge = past.model(later)
            decided = judge.classes[judge.decide(judge.encoder.schema.check(plan.recourse.take(some)))]
            kept[str(term)] = int((decided == plan.target[some]).sum())
    return {
        "slack": slack,
        "people": int(some.sum()),
        "found": float(some.sum() / max(reachable.sum(), 1)),
        "cost": float(plan.cost[some].mean()) if some.any() else None,
        "cheapest": float(least[some].mean()) if some.any() else None,
        "kept": kept,
    }


def _place(keep: Path, year: str, name: str, people: int) -> Path:
    return keep / f"{year}-{name.replace(' ', '_')}-{people}.json"


def _asked(name: str) -> dict[str, Any]:
    """What a replay follows from, beside its year and people."""
    if name == CLAIRVOYANT:
        return {"panel": name, "slacks": [0.0]}
    return {"panel": name, "guides": asdict(PANELS[name]), "slacks": list(SLACKS)}


def _read(path: Path, name: str) -> dict[str, Any] | None:
    """What was kept, where it was made with these guides and slacks."""
    if not path.exists():
        return None
    row = json.loads(path.read_text("utf-8"))
    return row if all(row.get(key) == value for key, value in _asked(name).items()) else None


def main() -> None:
    """Replay what is not kept yet; with everything there, write the results."""
    names = [*PANELS, CLAIRVOYANT]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=RESULTS / "price")
    parser.add_argument("--bases", type=lambda text: text.split(","), default=YEARS)
    parser.add_argument("--panels", type=lambda text: text.split(","), default=names)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--write", action="store_true", help="write results/price.json of what is kept")
    given = parser.parse_args()
    use_cache()
    given.keep.mkdir(parents=True, exist_ok=True)
    if not given.write:
        past = Past.read(given.people)
        for year in given.bases:
            for name in given.panels:
                path = _place(given.keep, year, name, given.people)
                if _read(path, name) is None:
                    began = time.perf_counter()
                    offers = replayed(past, year, name)
                    seconds = round(time.perf_counter() - began, 1)
                    kept = {"year": year, "seconds": seconds, "offers": offers} | _asked(name)
                    write_result(path, kept)
                    print(f"{time.strftime('%H:%M:%S')} {year} {name}: {seconds} s", flush=True)
            past.pool.clear()  # no other year asks for its guides
        return
    places = [
        (_place(given.keep, year, name, given.people), name) for name in given.panels for year in given.bases
    ]
    some = [row for row in (_read(path, name) for path, name in places) if row is not None]
    text = to_json(
        {
            "replayed": sorted(some, key=lambda r: (names.index(r["panel"]), r["year"])),
            "command": f"python -m experiments.hold.price --people {given.people}"
            + ("" if given.panels == names else f" --panels {shlex.quote(','.join(given.panels))}"),
        }
        | made_with({"people": given.people}),
        indent=None,
    )
    (RESULTS / "price.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
