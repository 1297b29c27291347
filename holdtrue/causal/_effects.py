"""A causal model laid over encoded rows and tables: what an action brings about."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from holdtrue.causal._rows import raw_columns
from holdtrue.causal._scm import SCM, Grid
from holdtrue.encoding import Encoder, Feasible
from holdtrue.schema import Feature, Schema, Table


class Follower(NamedTuple):
    """A node with parents: its encoded column, the bounds of a consequence (raw units), and where it is marked
    as missing (None where it cannot be).
    """

    name: str
    column: int
    low: float
    high: float
    indicator: int | None


class Effects(eqx.Module):
    """From an action to the row it leads to.

    An action is a row that differs from the factual in the columns that the person changes, and only there; all
    other nodes of the causal model follow. To set a column to the value it has already is no action: it would
    hold the column still against its causes, at no cost.

    Attributes
    ----------
    scm : SCM, complete.
    columns : each node and each level that an equation names, with its encoded column.
    followers : nodes with parents.
    grids : rounding of consequences, by node.
    """

    scm: SCM = eqx.field(static=True)
    columns: tuple[tuple[str, int], ...] = eqx.field(static=True)
    followers: tuple[Follower, ...] = eqx.field(static=True)
    grids: tuple[tuple[str, Grid], ...] = eqx.field(static=True)

    @classmethod
    def of(cls, scm: SCM, encoder: Encoder) -> "Effects":
        """Lay a complete causal model over an encoder's columns."""
        schema = encoder.schema
        grids = scm.grids(schema)
        at = {name: i for i, name in enumerate(encoder.layout.column_names(schema))}
        used = {n.name for n in scm.followers} | {
            key for n in scm.followers for key in (n.equation.keys if n.equation is not None else ())
        }
        marked = {slot.name: slot.start for slot in encoder.layout.indicators}
        followers = tuple(
            Follower(n.name, at[n.name], *_bounds(schema[n.name]), marked.get(n.name)) for n in scm.followers
        )
        return cls(scm, tuple((key, at[key]) for key in sorted(used)), followers, tuple(grids.items()))

    def after(
        self, x: Float[Array, " d"], action: Float[Array, " d"], feasible: Feasible
    ) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
        """One encoded row after an action, and whether every consequence is known and within its bounds."""
        scale, offset = feasible.scale, feasible.offset
        before, to, acted = x * scale + offset, action * scale + offset, action != x
        now = self.scm.propagate(
            {key: before[c] for key, c in self.columns},
            {key: to[c] for key, c in self.columns},
            {key: acted[c] for key, c in self.columns},
            dict(self.grids),
        )
        row, ok = action, jnp.asarray(True)
        for name, c, low, high, indicator in self.followers:
            follows = ~acted[c] & (now[name] != before[c])
            slack = 1e-6 * scale[c]
            inside = (now[name] >= low - slack) & (now[name] <= high + slack)
            known = True if indicator is None else before[indicator] < 0.5
            ok = ok & (~follows | (inside & known))
            row = row.at[c].set(jnp.where(follows, (now[name] - offset[c]) / scale[c], row[c]))
        return row, ok & jnp.all(jnp.isfinite(row))

    def after_table(self, encoder: Encoder, factual: Table, action: Table) -> tuple[Table, np.ndarray]:
        """A table after everyone's action, exactly; and which columns changed as a consequence.

        Double precision, in the person's own columns, rounded as `SCM.counterfactual` does. An immutable column
        that changed is not marked as a consequence, so that whoever checks the row finds it changed. Where an
        equation has no value, or would move what is missing, the person stays as they are.
        """
        schema: Schema = encoder.schema
        before, to = raw_columns(encoder, factual), raw_columns(encoder, action)
        acted = {key: to[key] != before[key] for key in before}
        now = self.scm.propagate(before, to, acted, dict(self.grids))
        columns = {name: action.columns[name] for name in schema.names}
        followed = np.zeros((factual.n_rows, len(schema)), bool)
        sound = np.ones(factual.n_rows, bool)
        for name, *_ in self.followers:
            sound &= np.isfinite(now[name]) & ~(factual.missing(name) & (now[name] != to[name]))
        for name, *_ in self.followers:
            changed = sound & (now[name] != to[name])
            if changed.any():
                columns[name] = overwrite(columns[name], changed, _read(schema[name], now[name][changed]))
                followed[:, schema.names.index(name)] = changed & (not self.scm[name].immutable)
        if not sound.all():
            columns = {name: overwrite(v, ~sound, factual.columns[name][~sound]) for name, v in columns.items()}
        return Table(columns, factual.n_rows, factual.native), followed

    def may_act(self, encoder: Encoder, x: np.ndarray) -> np.ndarray:
        """Which encoded columns each person may act on, given encoded rows.

        Not on a column that is immutable or has an immutable descendant; nor on one with a descendant that is
        missing for this person, since what is not known cannot be followed.
        """
        layout = encoder.layout
        raw = {s.name: x[:, s.start] * encoder.scale[s.start] + encoder.offset[s.start] for s in layout.indicators}
        missing = {name: value > 0.5 for name, value in raw.items()}
        may = np.ones(x.shape, bool)
        for node in self.scm:
            below = self.scm.descendants(node.name)
            shut = np.full(len(x), any(self.scm[name].immutable for name in (node.name, *below)))
            for name in below:
                shut |= missing.get(name, False)
            slot = layout.slot(node.name)
            may[:, slot.start : slot.stop] &= ~shut[:, None]
        return may


def _bounds(feature: Feature) -> tuple[float, float]:
    if feature.has_levels:
        return 0.0, len(feature.levels or ()) - 1.0
    return feature.bounds or (-np.inf, np.inf)


def _read(feature: Feature, values: np.ndarray) -> np.ndarray:
    """Raw values in the person's own terms."""
    if not feature.has_levels:
        return values
    levels = np.empty(len(feature.levels or ()), object)
    levels[:] = list(feature.levels or ())
    return levels[values.astype(int)]


def overwrite(column: np.ndarray, mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of a column with other values in some rows, of a type that holds both."""
    kind = np.result_type(column, values) if object not in (column.dtype, values.dtype) else object
    out = column.astype(kind)
    out[mask] = values
    return out
