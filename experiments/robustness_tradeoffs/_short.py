"""The small table in the page's text: what training against an early radius does, before anything collapses."""

from collections.abc import Sequence

from experiments._report import table
from experiments.robustness_tradeoffs._result import AtRadius, Result
from experiments.robustness_tradeoffs._tables import nothing, of, ratio, shown

EARLY = ("0.02", "0.05", "0.1")
AT = "0.05"


def short(results: Sequence[Result]) -> dict[str, str]:
    """Tables by the names of their marks."""
    rows = []
    for result in results:
        for kind, radii in result.models.items():
            cells = [nothing(radii[at]) or shown(ratio(radii[at]), 1) for at in EARLY]
            fixed = " → ".join(shown([s.on_fixed for s in radii[at].splits]) for at in ("0", AT))
            held = nothing(radii[AT]) or shown(of(radii[AT], lambda s: s.held))
            rows.append([f"{result.title}, {kind}", *cells, fixed, _first(radii["0"]), held])
    head = ["", *(f"cost over that at ε = 0, at {at}" for at in EARLY), f"slope on the immutable, ε = 0 → {AT}",
            "a yes exists with them held, ε = 0", f"ε = {AT}"]  # fmt: skip
    return {"early": table(head, rows)}


def _first(entry: AtRadius) -> str:
    return nothing(entry) or shown(of(entry, lambda s: s.held))
