"""Options that are none: whoever takes one has done all that another asks, and more for nothing."""

import numpy as np

from holdtrue.encoding import Layout
from holdtrue.methods._frame import RecourseFrame

NEAR = 1e-6  # in encoded units


def dominated(plan: RecourseFrame) -> np.ndarray:
    """Which rows ask for all that another option of the same person asks for, and more, and hold no surer."""
    encoder = plan.predictor.encoder
    own, to = encoder.encode(plan.factual), encoder.encode(plan.action)
    sure = np.zeros(len(plan)) if plan.held is None else np.nan_to_num(plan.held.survival)
    first = np.argsort(plan.person, kind="stable")
    out = np.zeros(len(plan), bool)
    for shift in range(1, len(plan)):
        a, b = first[shift:], first[:-shift]
        same = plan.person[a] == plan.person[b]
        if not same.any():
            break
        a, b = a[same], b[same]
        for more, less in ((a, b), (b, a)):
            both = plan.found[more] & plan.found[less] & ~out[less]
            beyond = covers(encoder.layout, to[more] - own[more], to[less] - own[less])
            out[more] |= both & beyond & (plan.cost[more] > plan.cost[less]) & (sure[more] <= sure[less])
    return out


def covers(layout: Layout, more: np.ndarray, less: np.ndarray) -> np.ndarray:
    """Whether each change goes, in every feature that the other one changes, as far in the same direction."""
    n = len(layout.numbers)
    a, b = more[:, :n], less[:, :n]
    as_far = (np.abs(b) <= NEAR) | ((np.sign(a) == np.sign(b)) & (np.abs(a) >= np.abs(b) - NEAR))
    out = as_far.all(axis=1)
    for group in layout.groups:
        x, y = more[:, group.start : group.stop], less[:, group.start : group.stop]
        unchanged = (np.abs(y) <= NEAR).all(axis=1)
        out &= unchanged | (np.abs(x - y) <= NEAR).all(axis=1)
    return out
