"""Results as Markdown: ours beside the printed figures."""

import json
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from experiments._report import cell, table
from experiments.counterfactual_training._result import Against, Gain, Recourse, Result
from experiments.counterfactual_training._settings import HELD, OURS, PAPER, PGD, PLAIN, RADII, TABULAR

Results = Sequence[Result]


@cache
def printed() -> dict[str, dict[str, list[float]]]:
    """The paper's figures: value and error in percent; for shares, CT and BL."""
    place = files("experiments.counterfactual_training") / "printed.json"
    return json.loads(place.read_text(encoding="utf-8"))


def markdown(results: Results, parts: Collection[str] = ()) -> str:
    """Tables of some datasets; `parts` are tables and figures of the paper, or none for all."""
    makers: tuple[tuple[Collection[str], Callable[[Results], str]], ...] = (
        (("table 1", "figure 6"), _criteria),
        (("table 1",), lambda r: _table_1(r, "honest")),
        (("table 1",), lambda r: _table_1(r, "paper")),
        (("figure 6",), lambda r: _regimes(r, "honest")),
        (("figure 6",), lambda r: _regimes(r, "paper")),
        (("table 1", "figure 6"), _by_weight),
        (("table 1", "figure 6"), _against_pgd),
        (("table 2",), _table_2),
        (("table 3",), lambda r: _table_3(r, "honest")),
        (("table 3",), lambda r: _table_3(r, "paper")),
        (("table 1",), _costs),
        (("figure 5",), _attacks),
        (("figure 1",), _plane),
    )
    texts = [make(results) for names, make in makers if not parts or set(names) & set(parts)]
    texts.append("" if parts else _what_was_run(results))
    return "\n\n".join(text for text in texts if text) + "\n"


def percent(found: Gain | None, digits: int = 0) -> str:
    """A gain with its 99% interval; a star where the interval leaves 0 out."""
    if found is None:
        return "-"
    star = "*" if found.low > 0 or found.high < 0 else ""
    return f"{found.gain:.{digits}f}{star} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def spread(values: Sequence[float | None] | None, digits: int = 3) -> str:
    """Mean over seeds, and the largest distance from it."""
    there = [v for v in values or () if v is not None]
    if not there:
        return "-"
    mean = float(np.mean(there))
    return f"{mean:.{digits}f} ± {max(abs(v - mean) for v in there):.{digits}f}"


def got(result: Result, protocol: str, side: str, kind: str) -> Recourse | None:
    """A regime's recourse under a protocol, free or with the protected features held."""
    return result.protocols.get(protocol, {}).get(side, {}).get(kind)


def against(found: Recourse | None, base: str) -> Against | None:
    """What a regime gains over plain or PGD training."""
    return None if found is None else {PLAIN: found.against_plain, PGD: found.against_pgd}[base]


def _ran(results: Results, protocol: str, side: str = "free") -> list[Result]:
    return [r for r in results if r.protocols.get(protocol, {}).get(side)]


TITLES = {"honest": "honest protocol", "paper": "the paper's protocol"}


def _printed(key: str, title: str) -> str:
    value = printed()[key].get(title)
    return "-" if value is None else f"{value[0]:.0f} ± {value[1]:.0f}"


def _table_1(results: Results, protocol: str) -> str:
    rows, scales = [], []
    for result in _ran(results, protocol):
        found = against(got(result, protocol, "free", PAPER), PLAIN)
        if found is None:
            continue
        title = result.title
        held = against(got(result, protocol, "held", PAPER + HELD), PLAIN)
        scales = scales or list(found.ip_star or {})
        stars = [f"{percent(star)} ({star.other:.3f} / {star.base:.3f})" if star else "-"
                 for star in (found.ip_star or {}).values()]  # fmt: skip
        rows.append(
            [title, _printed("ip", title), percent(found.ip), _printed("ip_star", title), *stars,
             _printed("cost", title), percent(held and held.cost)]
        )  # fmt: skip
    if not rows:
        return ""
    head = ["", "IP, print", "IP", "IP*, print", *(f"IP*, scale {s} (CT / BL)" for s in scales)]
    head += ["cost, print", "cost, protected"]
    title = f"### Table I, {TITLES[protocol]}: percent by which CT as printed lies below plain training"
    return f"{title}\n\n{table(head, rows)}"


def meets(result: Result) -> dict[str, bool] | None:
    """Which of the goals our setting reaches on a dataset, honestly measured."""
    found = got(result, "honest", "free", OURS)
    plain, robust = against(found, PLAIN), against(found, PGD)
    if not (found and plain and plain.ip and robust and robust.ip):
        return None
    kinds = result.kinds

    def mean(kind: str, key: str) -> float:
        return float(np.mean(getattr(kinds[kind], key)))

    return {
        "IP 5% below BL": plain.ip.gain >= 5,
        "IP 5% below PGD": robust.ip.gain >= 5,
        "validity .98": found.validity is not None and found.validity >= 0.98,
        "accuracy within .02 of BL": mean(OURS, "accuracy") >= mean(PLAIN, "accuracy") - 0.02,
        "robust accuracy within .03 of PGD": mean(OURS, "pgd") >= mean(PGD, "pgd") - 0.03,
    }


def _criteria(results: Results) -> str:
    rows = []
    for result in results:
        goals = meets(result)
        if goals is None or result.dataset not in TABULAR:
            continue
        found = got(result, "honest", "free", OURS)
        assert found is not None
        below = [against(found, base) for base in (PLAIN, PGD)]
        kinds = result.kinds
        missed = [name for name, ok in goals.items() if not ok]
        shares = [
            " / ".join(f"{np.mean(getattr(kinds[k], key)):.3f}" for k in (OURS, PLAIN, PGD))
            for key in ("accuracy", "pgd")
        ]
        rows.append(
            [result.title, *(percent(b and b.ip) for b in below),
             cell(found.validity, 3), *shares,
             "all met" if not missed else "missed: " + ", ".join(missed)]
        )  # fmt: skip
    if not rows:
        return ""
    head = ["", "IP below BL", "IP below PGD", "validity", "accuracy: ours / BL / PGD"]
    head += ["under PGD 0.1: ours / BL / PGD", "goals"]
    return f"### Our setting against plain and adversarial training, honest protocol\n\n{table(head, rows)}"


def _regimes(results: Results, protocol: str) -> str:
    texts = []
    for result in _ran(results, protocol):
        rows = []
        for kind, found in result.protocols[protocol]["free"].items():
            below = [against(found, base) for base in (PLAIN, PGD)]
            star = list((below[0].ip_star or {}).values())[-1] if below[0] else None
            entry = result.kinds[kind]
            rows.append(
                [kind, cell(found.validity, 3), cell(found.implausibility), cell(found.cost),
                 *(percent(b and b.ip) for b in below), percent(star),
                 percent(below[0] and below[0].cost),
                 spread(found.unfaithful, 2), spread(entry.accuracy), spread(entry.pgd),
                 spread(entry.mature, 2)]
            )  # fmt: skip
        head = ["", "validity", "IP", "l1 cost", "IP below BL", "IP below PGD", "IP* below BL", "cost below BL"]
        head += ["distance to the model's own samples", "accuracy", "under PGD 0.1", "mature"]
        texts.append(f"### {result.title}: all regimes, {TITLES[protocol]} (Figure 6)\n\n{table(head, rows)}")
    return "\n\n".join(texts)


def _by_weight(results: Results) -> str:
    rows = []
    for result in _ran(results, "honest"):
        for kind in (PAPER, OURS, PGD):
            found = against(got(result, "honest", "free", kind), PLAIN)
            if found:
                rows.append([result.title, kind, *(percent(g) for g in found.ip_by_weight or ())])
    if not rows:
        return ""
    head = ["", "", "energy weight 0.1", "1", "5"]
    return f"### IP below plain training by the search's energy weight, honest protocol\n\n{table(head, rows)}"


def _against_pgd(results: Results) -> str:
    """Our setting over PGD training: where its gain lies, whom it is of, and what it costs."""
    rows = []
    for result in _ran(results, "honest"):
        own = got(result, "honest", "free", OURS)
        found, robust = against(own, PGD), got(result, "honest", "free", PGD)
        if not (own and found and found.ip and robust and own.cost and robust.cost):
            continue
        share = "-" if found.ip.share is None else f"{found.ip.share:.0%}"
        rows.append(
            [result.title, *(percent(g) for g in found.ip_by_weight or ()), percent(found.ip), share,
             f"{own.cost:.2f} / {robust.cost:.2f}", f"{own.cost / robust.cost:.2f}"]
        )  # fmt: skip
    if not rows:
        return ""
    head = ["", "energy weight 0.1", "1", "5", "all", "people compared", "l1 cost, ours / PGD", "ratio"]
    title = "### Our setting over PGD training by the search's energy weight: IP below it in percent"
    return f"{title}, honest protocol\n\n{table(head, rows)}"


def _table_2(results: Results) -> str:
    rows = []
    for result in results:
        kinds = result.kinds
        if kinds[PLAIN].sensitivity is None:
            continue
        title = result.title
        theirs = printed()["sensitivity"].get(title)
        for name, label in (("ig_uniform", "IG, U(-1, 1)"), ("ig_undecided", "IG, undecided"), ("slope", "slope")):
            cells = [spread((kinds[k].sensitivity or {})[name]) if k in kinds else "-"
                     for k in (PLAIN, PAPER, PAPER + HELD, OURS, OURS + HELD)]  # fmt: skip
            show = name == "ig_uniform"
            told = "-" if theirs is None else f"{theirs[0]} / {theirs[1]}"
            rows.append([title if show else "", told if show else "", label, *cells])
    if not rows:
        return ""
    head = ["", "print, CT / BL", "share on the protected", PLAIN, PAPER, PAPER + HELD, OURS, OURS + HELD]
    return f"### Table II: sensitivity to the protected features\n\n{table(head, rows)}"


def _table_3(results: Results, protocol: str) -> str:
    rows = []
    for result in _ran(results, protocol):
        title, row = result.title, [result.title]
        for key, side, ours in (("validity", "free", (PAPER, PLAIN, OURS, PGD)),
                                ("validity_held", "held", (PAPER + HELD, PLAIN, OURS + HELD, PGD))):  # fmt: skip
            theirs = printed()[key].get(title)
            row.append("-" if theirs is None else f"{theirs[0]:.2f} / {theirs[1]:.2f}")
            row.append(" / ".join(cell(getattr(got(result, protocol, side, k), "validity", None)) for k in ours))
        rows.append(row)
    if not rows:
        return ""
    head = ["", "print, CT / BL", "CT / BL / ours / PGD", "print, protected", "protected: CT / BL / ours / PGD"]
    return f"### Table III, {TITLES[protocol]}: validity\n\n{table(head, rows)}"


def _costs(results: Results) -> str:
    texts = []
    for protocol in TITLES:
        rows = []
        for result in _ran(results, protocol, "held"):
            held = result.protocols[protocol]["held"]
            names = [k for k in held if k != PLAIN]
            for kind in names:
                below = against(held[kind], PLAIN)
                cost = percent(below and below.cost)
                rows.append([result.title, kind, cost, cell(held[kind].validity)])
        if rows:
            text = table(["", "", "cost below BL", "validity"], rows)
            texts.append(f"### Cost with the protected features held, {TITLES[protocol]}\n\n{text}")
    return "\n\n".join(texts)


def _attacks(results: Results) -> str:
    rows = []
    for result in results:
        for kind, entry in result.kinds.items():
            if entry.curve_pgd is None or kind.endswith(HELD):
                continue
            ends = [np.mean(getattr(entry, f"curve_{name}")[-1]) for name in ("fgsm", "pgd")]
            rows.append(
                [result.title, kind, spread(entry.accuracy), *(f"{v:.3f}" for v in ends),
                 spread(entry.pgd_restarts), spread(entry.transfer), spread(entry.nearest_l2, 2)]
            )  # fmt: skip
    if not rows:
        return ""
    head = ["", "", "clean", f"FGSM {RADII[-1]}", f"PGD {RADII[-1]}", "PGD, 5 restarts"]
    head += ["moved from BL's attack", "nearest other decision, l2"]
    return f"### Accuracy under attack (Figure 5)\n\n{table(head, rows)}"


def _plane(results: Results) -> str:
    found = next((r.pictures for r in results if r.dataset == "ls"), None)
    if found is None:
        return ""
    rows = [
        [p.kind, "x1 held" if p.held else "free", f"{p.share:.2f}", str(len(p.recourse))]
        for p in found.panels or ()
    ]
    text = table(["", "", "share of the slope on x1", "recourse found"], rows)
    return f"### Figure 1: linear classifiers on LS\n\n{text}"


def _what_was_run(results: Results) -> str:
    rows = [
        [r.title, f"{r.n_train:,} / {r.n_test:,}", str(r.n_columns), ", ".join(r.protected),
         str(r.n_seeds), str(r.n_people), *_took(r), ", ".join(_devices(r))]
        for r in results
    ]  # fmt: skip
    head = ["", "rows to learn from / test", "columns", "protected", "seeds", "people a direction"]
    head += ["seconds to train all models, with compilation", "seconds for the rest", "device"]
    return f"### What was run\n\n{table(head, rows)}"


def _took(result: Result) -> tuple[str, str]:
    """Seconds of training, of whatever process did it, and of all else."""
    stages = {True: 0.0, False: 0.0}
    for name, seconds in result.seconds.items():
        stages[name.startswith("training")] += seconds
    training = {t.group: t.seconds for t in result.trained.values()}
    return f"{sum(training.values()) or stages[True]:.0f}", f"{stages[False]:.0f}"


def _devices(result: Result) -> list[str]:
    trained = {t.device for t in result.trained.values()}
    return sorted(trained | {str(result.device or "-")})
