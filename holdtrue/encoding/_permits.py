"""A person's feasible set as a function of their encoded row, for training, where people come in minibatches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from holdtrue.encoding._distance import norm_weights
from holdtrue.encoding._encoder import Encoder
from holdtrue.encoding._feasible import Feasible, Part
from holdtrue.encoding._layout import Layout, level_columns, level_positions
from holdtrue.encoding._limits import FINEST, constraint_rows, reachable
from holdtrue.schema import Restrictions

NEAR = 1e-4  # of a grid step: a factual this near to a grid point lies on it, whatever float32 made of it


class Permits(eqx.Module):
    """What the schema permits, ready to be asked about any encoded row inside a compiled program.

    Agrees with `feasible_sets` where nobody has restrictions, up to float32; that one starts from a table and
    serves recourse itself, this one serves a training step that meets the same person in every epoch.

    Attributes
    ----------
    lower, upper : bounds of every number, a level's encoded 0 and 1.
    grid : spacing of a number's grid, 0 for a continuum.
    rises, falls : whether a number may go up, or down.
    level : whether a column holds a level and no measured number.
    indicator : per number, the column that says it was missing; -1 where there is none.
    reach : per category, which level leads to which.
    price : cost of a unit of change in each column, by the schema's `cost_weight`.
    columns : names of the encoded columns: ``income``, ``housing=own``.
    a, b, moves : rows of ``a @ x <= b``, and which of them bound a change instead of a value.
    """

    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    grid: Float[Array, " d"]
    rises: Bool[Array, " d"]
    falls: Bool[Array, " d"]
    level: Bool[Array, " d"]
    reach: tuple[Bool[Array, "_ _"], ...]
    a: Float[Array, "c d"]
    b: Float[Array, " c"]
    moves: Float[Array, " c"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    price: Float[Array, " d"]
    layout: Layout = eqx.field(static=True)
    indicator: tuple[int, ...] = eqx.field(static=True)
    was: tuple[Part, ...] = eqx.field(static=True)
    columns: tuple[str, ...] = eqx.field(static=True)

    @staticmethod
    def of(encoder: Encoder) -> "Permits":
        """What an encoder's schema permits."""
        schema, layout, d = encoder.schema, encoder.layout, encoder.n_columns
        lower, upper = (
            (np.zeros(d) - encoder.offset) / encoder.scale,
            (np.ones(d) - encoder.offset) / encoder.scale,
        )
        grid, rises, falls = np.zeros(d), np.zeros(d, bool), np.zeros(d, bool)
        for slot in layout.numbers:
            feature, c = schema[slot.name], slot.start
            bounds = (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else feature.bounds
            assert bounds is not None  # a resolved schema has them
            lower[c], upper[c] = (np.asarray(bounds) - encoder.offset[c]) / encoder.scale[c]
            grid[c] = (1.0 if feature.has_levels else feature.grid or 0.0) / encoder.scale[c]
            rises[c], falls[c] = (
                feature.direction in ("free", "increase"),
                feature.direction in ("free", "decrease"),
            )
        # Steps too fine to count in float32 are a continuum to a search.
        grid *= grid > FINEST * np.maximum(np.maximum(np.abs(lower), np.abs(upper)), 1.0)
        categories, nobodys = [schema[g.name] for g in layout.groups], Restrictions()
        reach = [reachable(f, np.arange(len(f.levels or ())), nobodys) for f in categories]
        a, b = constraint_rows(encoder, np.zeros((1, d)))
        missing = {s.name: s.start for s in layout.indicators}
        slots = [s.name for s in layout.slots]

        def single(values: ArrayLike) -> Array:  # rounded on the host: no program need be compiled for it
            return jax.device_put(np.asarray(values, np.float32))

        return Permits(
            lower=single(lower), upper=single(upper), grid=single(grid),
            rises=jax.device_put(rises), falls=jax.device_put(falls),
            level=jax.device_put(level_columns(schema, layout)), reach=jax.device_put(tuple(reach)),
            a=single(a), b=single(b[0]), moves=single([c.on == "change" for c in schema.constraints]),
            scale=single(encoder.scale), offset=single(encoder.offset),
            price=single(norm_weights(encoder, "l1")), layout=layout,
            indicator=tuple(missing.get(s.name, -1) for s in layout.numbers),
            was=tuple(
                tuple((slots.index(n), level_positions(schema[n], tuple(levels))) for n, levels in i.was.items())
                for i in schema.implications
            ),
            columns=tuple(layout.column_names(schema)),
        )  # fmt: skip

    @property
    def fixed(self) -> Bool[Array, " d"]:
        """Columns of features that nobody may change: held numbers, categories without a way to another level."""
        fixed = ~(self.rises | self.falls)
        fixed = fixed.at[self.layout.n_columns - len(self.layout.indicators) :].set(False)
        for group, reach in zip(self.layout.groups, self.reach, strict=True):
            leaves = jnp.any(reach & ~jnp.eye(reach.shape[0], dtype=bool))
            fixed = fixed.at[group.start : group.stop].set(~leaves)
        return fixed

    def __call__(self, x: Float[Array, " d"]) -> Feasible:
        """Feasible set of the person whose encoded row this is."""
        low, high = self._interval(x)
        raw = x * self.scale + self.offset
        known = [True if c < 0 else raw[c] < 0.5 for c in self.indicator]
        movable = jnp.zeros_like(self.rises).at[: len(known)].set(jnp.asarray(known, bool))
        movable &= (self.rises | self.falls) & (low <= high)
        lower, upper = jnp.where(movable, low, x), jnp.where(movable, high, x)
        for group, reach in zip(self.layout.groups, self.reach, strict=True):
            part = slice(group.start, group.stop)
            movable = movable.at[part].set(reach[jnp.argmax(raw[part])])
            lower, upper = lower.at[part].set(self.lower[part]), upper.at[part].set(self.upper[part])
        feasible = Feasible(
            x=x, lower=lower, upper=upper, step=self.grid, movable=movable, b=self.b + self.moves * (self.a @ x),
            active=jnp.zeros(len(self.was), bool), a=self.a, scale=self.scale, offset=self.offset,
            layout=self.layout,
        )  # fmt: skip
        if not self.was:
            return feasible
        active = jnp.stack([feasible.holds(part, x) for part in self.was])
        return eqx.tree_at(lambda f: f.active, feasible, active)

    def _interval(self, x: Float[Array, " d"]) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """Ends of every number's permitted interval, on the grid where there is one."""
        low = jnp.where(self.falls, self.lower, jnp.maximum(self.lower, x))
        high = jnp.where(self.rises, self.upper, jnp.minimum(self.upper, x))
        zero = -self.offset / self.scale  # the grid counts from a raw value of 0
        step = jnp.where(self.grid > 0, self.grid, 1.0)
        on_grid = (
            jnp.ceil((low - zero) / step - NEAR) * step + zero,
            jnp.floor((high - zero) / step + NEAR) * step + zero,
        )
        low, high = (jnp.where(self.grid > 0, *ends) for ends in zip(on_grid, (low, high), strict=True))
        # Somebody on a bound, who may only move outwards, may stay there, whatever float32 made of the bound.
        return low, jnp.where(high + FINEST * (1 + jnp.abs(x)) >= low, jnp.maximum(low, high), high)
