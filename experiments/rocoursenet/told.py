"""How much a year's own loans tell of other years' decisions: ``python -m experiments.rocoursenet.told``.

Everything may change, so recourse may lead to any row. Of a year's own rows, those are taken that its base model
and base models of resamples of the year decide most surely one way, by the least sure of them: the best choice
that somebody has who knows that year alone. Asked is how many of the other years' base models decide them
likewise, earlier and later ones apart. Writes ``results/told.json``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments._results import made_with
from experiments._task import Rows
from experiments.rocoursenet._data import Tasks, read_tasks
from experiments.rocoursenet._judge import decided, gaps
from experiments.rocoursenet._settings import BASE_WIDTHS, SETTINGS
from experiments.rocoursenet._train import fit_all, plain
from holdtrue.models import MLP, AbstractModel

RESULTS = Path(__file__).parent / "results"
SHARES = (0.01, 0.05, 0.2)
"""Of the year's rows, the surest."""
N_ROWS = 5000


def resampled(tasks: Tasks, n: int, seed: int) -> Tasks:
    """Every subset `n` times, to learn from a resample of its rows."""
    rng, out = np.random.default_rng(seed), []
    for task in tasks:
        x, y = task.learned
        places = [rng.choice(len(y), len(y)) for _ in range(n)]
        out += [replace(task, learned=Rows(x[rows], y[rows])) for rows in places]
    return tuple(out)


def told(
    tasks: Tasks, models: Sequence[AbstractModel], again: Sequence[Sequence[AbstractModel]]
) -> dict[str, Any]:
    """By year and wanted decision: share of earlier and of later years' models that decide the surest rows so."""
    out: dict[str, Any] = {}
    for i, task in enumerate(tasks):
        x = np.concatenate([task.asked.x, task.learned.x])[:N_ROWS]
        gap = gaps([models[i], *again[i]], x)
        likewise = decided(models, x)
        own: dict[str, Any] = {}
        for wanted, sure in ((0, (-gap).min(axis=0)), (1, gap.min(axis=0))):
            order = np.argsort(-sure)
            agreed = likewise == wanted
            parts = {}
            for share in SHARES:
                rows = order[: max(1, round(share * len(x)))]
                rows = rows[sure[rows] > 0]  # what all of them decide so
                earlier, later = agreed[:i, rows], agreed[i + 1 :, rows]
                parts[f"{share:g}"] = {
                    "n": len(rows),
                    "earlier": float(earlier.mean()) if earlier.size else None,
                    "later": float(later.mean()) if later.size else None,
                }
            own[str(wanted)] = parts
        out[task.name] = own
    return out


def main() -> None:
    """Read the command line, train, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=10)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    setting = SETTINGS["loan"]
    tasks = read_tasks("loan", n_people=1000)
    base = MLP(widths=BASE_WIDTHS, activation="leaky_relu", dropout=0.3)
    length = plain(tasks, given.updates or setting.n_updates, setting.batch_size)
    n, found = given.resamples, []
    command = f"python -m experiments.rocoursenet.told --seeds {given.seeds} --resamples {n}"
    command += f" --updates {given.updates}" if given.updates else ""
    for seed in range(given.seeds):
        models = fit_all(tasks, base, length, [seed])[0]
        more = fit_all(resampled(tasks, n, seed), base, length, [1000 + seed])[0]
        found.append(told(tasks, models, [more[i : i + n] for i in range(0, len(more), n)]))
        kept = {"dataset": "loan", "seeds": list(range(seed + 1)), "found": found, "command": command}
        write(given.out / "told.json", kept | made_with({}))


if __name__ == "__main__":
    main()
