"""How what is open to people was cut into boxes: a proof that can be followed without the search.

Whoever holds such a tree, the model and the schema can check every box that was not cut on: that its cheapest
point costs no less than what was found, or that the best leaves in it are not enough.
"""

import numpy as np

from holdtrue._types import JsonObject


def told(made: np.ndarray, edges: np.ndarray, names: list[str], n_numbers: int) -> list[JsonObject]:
    """One person's boxes, in the order of their numbers from 0 on: how each was cut, or nothing.

    A number is cut at an edge in encoded units: `above` it and up to it (`below`). A feature with levels is cut
    into the level in place `level` (`same`) and the others (`other`).
    """
    out: list[JsonObject] = []
    for (slot, taken, beyond, here, rises), edge in zip(made.tolist(), edges.tolist(), strict=True):
        if slot < 0:
            out.append({})
        elif slot < n_numbers:
            above, below = (beyond, here) if rises else (here, beyond)
            out.append({"feature": names[slot], "edge": edge, "above": above, "below": below})
        else:
            out.append({"feature": names[slot], "level": taken, "other": beyond, "same": here})
    return out
