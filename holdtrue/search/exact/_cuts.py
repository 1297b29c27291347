"""How what is open to people was cut into boxes: a proof that can be followed without the search.

Whoever holds such a tree, the model and the schema can check every box that was not cut on: that its cheapest
point costs no less than what was found, or that the best leaves in it are not enough.
"""

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.search.exact._look import Cut
from holdtrue.search.exact._room import Room


class Cuts:
    """Cuts by the box that was cut; every box has a number, a person that of all that is open to them."""

    def __init__(self) -> None:
        self.n = 0
        self.root: dict[int, int] = {}
        self.made: dict[int, tuple[int, float, bool, int, int, int]] = {}

    def begun(self, person: np.ndarray) -> np.ndarray:
        """Numbers for all that is open to some people; what was cut before is no longer theirs."""
        nodes = self._new(len(person))
        self.root |= dict(zip(person.tolist(), nodes.tolist(), strict=True))
        return nodes

    def cut(self, node: np.ndarray, cut: Cut, level: np.ndarray, room: Room) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the halves of some boxes: what lies beyond the cut, and where the cheapest point is."""
        beyond, here = self._new(len(node)), self._new(len(node))
        n_numbers = room.own.shape[1]
        for i, at in enumerate(node.tolist()):
            slot = int(cut.slot[i])
            taken = -1 if slot < n_numbers else int(level[i, slot - n_numbers] - room.spans[slot - n_numbers])
            edge, rises = float(np.float32(cut.edge[i])), bool(cut.rises[i])
            self.made[at] = (slot, edge, rises, taken, int(beyond[i]), int(here[i]))
        return beyond, here

    def of(self, person: int, names: list[str], n_numbers: int) -> list[JsonObject]:
        """One person's boxes, in the order of their numbers from 0 on: how each was cut, or nothing.

        A number is cut at an edge in encoded units: `above` it and up to it (`below`). A feature with levels is
        cut into the level in place `level` (`same`) and the others (`other`).
        """
        out: list[JsonObject] = [{}]
        left = [(self.root.get(person, -1), 0)]  # who is proved to have none before anything is cut has one box
        while left:
            node, at = left.pop()
            if node not in self.made:
                continue
            slot, edge, rises, taken, beyond, here = self.made[node]
            first, second = len(out), len(out) + 1
            out += [{}, {}]
            left += [(beyond, first), (here, second)]
            if slot < n_numbers:
                above, below = (first, second) if rises else (second, first)
                out[at] = {"feature": names[slot], "edge": edge, "above": above, "below": below}
            else:
                out[at] = {"feature": names[slot], "level": taken, "other": first, "same": second}
        return out

    def _new(self, n: int) -> np.ndarray:
        self.n += n
        return np.arange(self.n - n, self.n)
