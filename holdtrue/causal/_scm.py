"""Structural causal models as data: abduct, act, predict."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdtrue._types import Json, JsonObject
from holdtrue.causal._equation import Equation, Values, mapping, namespace
from holdtrue.encoding import to_grid
from holdtrue.errors import SchemaError
from holdtrue.schema import Schema, TableLike, did_you_mean, parse_json, parse_yaml

FORMAT = 1


class Grid(NamedTuple):
    """Which values a column can take: multiples of `step` (0 for a continuum), and for levels, `low` to `high`."""

    step: float
    low: float = -np.inf
    high: float = np.inf

    def nearest(self, value: Any) -> Any:
        """Round to the grid; a level beyond the last is the last."""
        xp = namespace(value)
        if xp is np:
            return np.clip(to_grid(np.asarray(value, np.float64), self.step), self.low, self.high)
        return xp.clip(xp.round(value / self.step) * self.step, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One column, what it depends on, and how.

    Parameters
    ----------
    name : str
        A column of the schema.
    parents : sequence of str
        Nodes that it depends on directly; none for a root.
    equation : Equation, optional
        How it depends on them. Learned by `SCM.fit` when omitted.
    immutable : bool, default=False
        Whether the column can never change. No action may then be taken on any of its ancestors. A column that
        the schema calls ``fixed`` is one on which nobody can act; it may still change as a consequence, unless
        it is immutable.
    """

    name: str
    parents: Sequence[str] = ()
    equation: Equation | None = None
    immutable: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"SCM: `name` of a node must be a column's name; got {self.name!r}.")
        where = f"SCM: node {self.name!r}"
        parents = self.parents
        if isinstance(parents, str) or not isinstance(parents, Sequence):
            raise SchemaError(f"{where}: `parents` must be a list of names; got {parents!r}. Write [{parents!r}].")
        object.__setattr__(self, "parents", tuple(parents))
        if self.equation is None:
            return
        if not isinstance(self.equation, Equation):
            raise SchemaError(f"{where}: `equation` must be an Equation; got {self.equation!r}.")
        owners = {key: self.owner(key) for key in self.equation.keys}
        for key, owner in owners.items():
            if owner is None:
                raise SchemaError(
                    f"{where}: its equation names a column that is not a parent; got {key!r}. Parents are "
                    f"{list(parents)!r}."
                )
        for parent in parents:
            if parent not in owners.values():
                raise SchemaError(
                    f"{where}: a parent is not in its equation; got {parent!r}. Add a term, or drop the parent."
                )

    def owner(self, key: str) -> str | None:
        """The parent that a key of the equation speaks of: the column itself, or of ``"column=level"``."""
        return max((p for p in self.parents if key == p or key.startswith(f"{p}=")), key=len, default=None)

    def to_dict(self) -> JsonObject:
        """Return plain types."""
        out: JsonObject = {"name": self.name}
        if self.parents:
            out["parents"] = list(self.parents)
        if self.equation is not None:
            out["equation"] = self.equation.to_dict()
        return out | ({"immutable": True} if self.immutable else {})

    @classmethod
    def from_dict(cls, raw: Json) -> "Node":
        """Build a node from the plain types of a YAML or JSON file."""
        raw = mapping(raw, ("name", "parents", "equation", "immutable"), "a node", needed=("name",))
        if raw.get("equation") is not None:
            raw["equation"] = Equation.from_dict(raw["equation"])
        return cls(**raw)


@dataclass(frozen=True)
class SCM:
    """A structural causal model: which columns depend on which, and how.

    Every node is ``column = link^-1(f(parents) + noise)`` with noise of the person's own. Because the noise is
    added, it can be read off a row (abduction), kept while some columns are set (action), and the others follow
    (prediction). Columns of a table that are no nodes depend on nothing and nothing depends on them.

    Parameters
    ----------
    nodes : sequence of Node

    Notes
    -----
    A node of whole numbers or of ordered levels follows a latent score: the position of the person's value,
    plus what its parents' change adds, rounded to the nearest value (and to the last level beyond it). Where in
    its rounding cell the person's score lies cannot be known; the middle is assumed. A category may be a parent,
    by its levels, and may be acted on, but cannot have parents: it has no order for a score to follow.

    Examples
    --------
    >>> from holdtrue.causal import Term
    >>> scm = SCM([
    ...     Node(name="income"),
    ...     Node(name="savings", parents=["income"],
    ...          equation=Equation(terms=[Term(of="income", coefficient=0.5)])),
    ... ])
    >>> person = {"income": 30.0, "savings": 20.0}
    >>> after = scm.counterfactual(person, {"income": 40.0})
    >>> {name: float(value) for name, value in after.items()}
    {'income': 40.0, 'savings': 25.0}
    >>> SCM.from_yaml(scm.to_yaml()) == scm
    True
    """

    nodes: tuple[Node, ...]
    _order: tuple[Node, ...] = field(init=False, repr=False, compare=False)

    def __init__(self, nodes: Sequence[Node]) -> None:
        if (
            isinstance(nodes, str)
            or not isinstance(nodes, Sequence)
            or not all(isinstance(n, Node) for n in nodes)
        ):
            raise SchemaError(
                f"SCM: `nodes` must be a list of Node objects; got {nodes!r}. To read a file: SCM.load."
            )
        names = [n.name for n in nodes]
        for node in nodes:
            if names.count(node.name) > 1:
                raise SchemaError(f"SCM: a node is described twice; got {node.name!r}. Keep one of them.")
            for parent in node.parents:
                if parent not in names:
                    raise SchemaError(
                        f"SCM: a parent of {node.name!r} is not a node; got {parent!r}. "
                        f"{did_you_mean(parent, names)}"
                    )
        by_name = {n.name: n for n in nodes}
        try:
            order = tuple(TopologicalSorter({n.name: n.parents for n in nodes}).static_order())
        except CycleError as error:
            raise SchemaError(
                f"SCM: the nodes cause one another in a circle; got {' -> '.join(error.args[1][::-1])}. Drop "
                "an arrow."
            ) from error
        object.__setattr__(self, "nodes", tuple(nodes))
        object.__setattr__(self, "_order", tuple(by_name[name] for name in order))

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __getitem__(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise SchemaError(f"SCM: unknown node; got {name!r}. {did_you_mean(name, self.names)}")

    @property
    def names(self) -> list[str]:
        """Names of the nodes, in the order given."""
        return [n.name for n in self.nodes]

    @property
    def followers(self) -> tuple[Node, ...]:
        """Nodes that have parents, causes before effects."""
        return tuple(n for n in self._order if n.parents)

    @property
    def complete(self) -> bool:
        """Whether every node with parents has an equation without gaps."""
        return all(n.equation is not None and n.equation.complete for n in self.followers)

    def descendants(self, name: str) -> frozenset[str]:
        """Nodes that change, or may change, when this one does."""
        reached = {name}
        for node in self.followers:
            if reached & set(node.parents):
                reached.add(node.name)
        return frozenset(reached - {name})

    def fit(self, X: TableLike, schema: Schema, *, ridge: float = 0.0) -> "SCM":
        """Return the model with what was left open learned from rows; see `fit_equations`."""
        from holdtrue.causal._fit import fit_table

        return fit_table(self, X, schema, ridge)

    # ---- abduct, act, predict -----------------------------------------------------------------------

    @np.errstate(all="ignore")  # what has no value is NaN, and whoever asks says so
    def noise(self, x: Values) -> JsonObject:
        """Abduction: the noise of every node with parents; the value itself of a root."""
        out = {}
        for node in self.nodes:
            equation = self._equation(node)
            out |= (
                {key: x[key] for key in x if key == node.name or key.startswith(f"{node.name}=")}
                if equation is None
                else {node.name: equation.to_score(x[node.name]) - equation.score(x)}
            )
        return out

    @np.errstate(all="ignore")  # what has no value is NaN, and whoever asks says so
    def predict(self, noise: Values, interventions: Values | None = None) -> JsonObject:
        """Every column from its noise, causes first; a column that is intervened upon takes the value given."""
        given = dict(interventions or {})
        out = {key: given.get(key, value) for key, value in noise.items()}
        for node in self.followers:
            equation = self._equation(node)
            assert equation is not None  # it has parents
            if node.name not in given:
                out[node.name] = equation.from_score(equation.score(out) + noise[node.name])
        return out

    def counterfactual(self, x: Values, interventions: Values, *, schema: Schema | None = None) -> JsonObject:
        """What each person's row would be, had they acted: abduct, act, predict.

        Batched over any leading axes and usable inside `jit`. Numpy arrays are computed by numpy in double
        precision. Nothing is lost where nothing changes: without an intervention the row comes back to the bit.

        Parameters
        ----------
        x : mapping of str to array
            Raw columns by name; levels of ordered features by position, of categories as ``"column=level"``.
        interventions : mapping of str to array
            Values that columns are set to; NaN where a person does not act on that column.
        schema : Schema, optional
            Keeps whole numbers, grids and levels; without it every node is a continuum.
        """
        xp = namespace(*x.values(), *interventions.values())
        before = {key: xp.asarray(value, float) for key, value in x.items()}
        absent = [key for key in interventions if key not in before]
        if absent:
            raise SchemaError(
                f"SCM: an intervention names a column that is not there; got {absent[0]!r}. "
                f"{did_you_mean(absent[0], list(before))}"
            )
        to = {key: xp.asarray(value, float) for key, value in interventions.items()}
        acted = {key: ~xp.isnan(value) for key, value in to.items()}
        return self.propagate(before, to, acted, self.grids(schema) if schema is not None else {})

    @np.errstate(all="ignore")  # what has no value is NaN, and whoever asks says so
    def propagate(self, x: Values, to: Values, acted: Values, grids: Mapping[str, Grid]) -> JsonObject:
        """`counterfactual` with the acted-on columns as masks; what a search calls."""
        xp = namespace(*x.values())
        now = {key: xp.where(acted[key], to[key], value) if key in to else value for key, value in x.items()}
        for node in self.followers:
            equation = self._equation(node)
            assert equation is not None  # it has parents
            own = x[node.name]
            moved = False
            for key in equation.keys:
                moved = moved | (now[key] != x[key])
            # The noise is the same before and after, so only the change of the score counts.
            shift = equation.score(now) - equation.score(x)
            value = equation.from_score(equation.to_score(own) + shift)
            if node.name in grids:
                grid = grids[node.name]
                # A value off the grid stays where less than half a step would be added.
                value = xp.where(xp.abs(value - own) < 0.5 * grid.step, own, grid.nearest(value))
            value = xp.where(moved, value, own)
            name = node.name
            now[name] = xp.where(acted[name], to[name], value) if name in to else value
        return now

    def grids(self, schema: Schema) -> dict[str, Grid]:
        """Which values the nodes with parents can take; refuses nodes that the schema does not have."""
        self.check(schema)
        out = {}
        for node in self.followers:
            feature = schema[node.name]
            if feature.has_levels:
                out[node.name] = Grid(1.0, 0.0, len(feature.levels or ()) - 1.0)
            elif feature.grid is not None:
                out[node.name] = Grid(feature.grid)
        return out

    def check(self, schema: Schema) -> None:
        """Hold the nodes against a schema, and say which does not fit."""
        for node in self.nodes:
            if node.name not in schema:
                raise SchemaError(
                    f"SCM: a node is not a column of the schema; got {node.name!r}. "
                    f"{did_you_mean(node.name, schema.names)}"
                )
            if node.parents and schema[node.name].kind == "categorical":
                raise SchemaError(
                    f"SCM: a categorical column cannot have parents, since it has no order for a score to follow; "
                    f"got {node.name!r} with {list(node.parents)!r}. Describe it as ordinal, or make it a root."
                )
            for key in node.equation.keys if node.equation is not None else ():
                schema.term(key)

    def _equation(self, node: Node) -> Equation | None:
        if node.parents and (node.equation is None or not node.equation.complete):
            raise SchemaError(
                f"SCM: a node has parents but no equation, or one with gaps; got {node.name!r}. Give its "
                "coefficients, or learn them: scm.fit(X, schema)."
            )
        return node.equation if node.parents else None

    # ---- files --------------------------------------------------------------------------------------

    def with_equations(self, equations: Mapping[str, Equation]) -> "SCM":
        """Return a copy in which some nodes have other equations."""
        return SCM([replace(n, equation=equations.get(n.name, n.equation)) for n in self.nodes])

    def to_dict(self) -> JsonObject:
        """Return plain types for YAML and JSON."""
        return {"holdtrue_scm": FORMAT, "nodes": [n.to_dict() for n in self.nodes]}

    @classmethod
    def from_dict(cls, raw: Json) -> "SCM":
        """Build a model from the plain types of a YAML or JSON file."""
        raw = mapping(raw, ("holdtrue_scm", "nodes"), "a causal model", needed=("nodes",))
        if raw.get("holdtrue_scm", FORMAT) != FORMAT:
            raise SchemaError(
                f"SCM: `holdtrue_scm`, the format, must be {FORMAT}; got {raw['holdtrue_scm']!r}. Upgrade "
                "holdtrue, or correct the file."
            )
        if not isinstance(raw["nodes"], Sequence) or isinstance(raw["nodes"], str):
            raise SchemaError(f"SCM: `nodes` must be a list; got {raw['nodes']!r}.")
        return cls([Node.from_dict(n) for n in raw["nodes"]])

    def to_json(self) -> str:
        """Return the model as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_yaml(self) -> str:
        """Return the model as YAML text."""
        import yaml

        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)

    @classmethod
    def from_json(cls, text: str) -> "SCM":
        """Read JSON text."""
        try:
            raw = parse_json(text)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"SCM: not valid JSON ({error}); got {text[:80]!r}. Check the file.") from error
        return cls.from_dict(raw)

    @classmethod
    def from_yaml(cls, text: str) -> "SCM":
        """Read YAML text; tags that would run code are refused."""
        try:
            raw = parse_yaml(text)
        except Exception as error:  # PyYAML lets any type through
            raise SchemaError(f"SCM: not valid YAML ({error}); got {text[:80]!r}. Check the file.") from error
        return cls.from_dict(raw)

    def save(self, path: str | Path) -> None:
        """Write the model; the ending ``.json`` chooses JSON, anything else YAML."""
        path = Path(path)
        try:
            path.write_text(self.to_json() if path.suffix == ".json" else self.to_yaml(), encoding="utf-8")
        except OSError as error:
            raise SchemaError(
                f"SCM: cannot write the file ({error}); got {str(path)!r}. Check the folder."
            ) from error

    @classmethod
    def load(cls, path: str | Path) -> "SCM":
        """Read a model file; the ending ``.json`` means JSON, anything else YAML."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SchemaError(
                f"SCM: cannot read the file ({error}); got {str(path)!r}. Check the path."
            ) from error
        return cls.from_json(text) if Path(path).suffix == ".json" else cls.from_yaml(text)

    def digest(self) -> str:
        """SHA-256 of the model, equal for equal models."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()
