"""All columns together: the one description that every other part reads."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from holdtrue._html import table
from holdtrue._types import Json, JsonObject
from holdtrue.errors import DataError, SchemaError
from holdtrue.schema._checks import did_you_mean, is_list, shown
from holdtrue.schema._columns import check_column, refused_rows, resolve_feature
from holdtrue.schema._constraints import Implication, LinearConstraint
from holdtrue.schema._feature import Feature, Level
from holdtrue.schema._keywords import HintedKeywords
from holdtrue.schema._parse import parse_json, parse_yaml
from holdtrue.schema._table import Table, TableLike, as_table

FORMAT = 1
SHOWN = 8  # levels of a feature that a notebook shows


@dataclass(frozen=True)
class Schema(HintedKeywords):
    """What the columns are and how each may change.

    Parameters
    ----------
    features : sequence of Feature
        One per column the model reads. Further columns of a table are carried along, unread.
    constraints : sequence of LinearConstraint
        Linear inequalities on the recourse, or on the change.
    implications : sequence of Implication
        What levels require of one another.
    notes : sequence of str
        What `infer` guessed, in sentences.

    Examples
    --------
    >>> schema = Schema([
    ...     Feature(name="income", kind="numeric", bounds=(0, 500), direction="increase"),
    ...     Feature(name="sex", kind="binary", levels=("f", "m"), direction="fixed"),
    ... ])
    >>> schema["income"].direction
    'increase'
    >>> Schema.from_yaml(schema.to_yaml()) == schema
    True
    """

    features: tuple[Feature, ...]
    constraints: tuple[LinearConstraint, ...] = ()
    implications: tuple[Implication, ...] = ()
    notes: tuple[str, ...] = ()
    _by_name: ClassVar[dict[str, Feature]]  # of each schema its own; no field of it

    def __init__(
        self,
        features: Sequence[Feature],
        constraints: Sequence[LinearConstraint] = (),
        implications: Sequence[Implication] = (),
        notes: Sequence[str] = (),
    ) -> None:
        kinds = {"features": Feature, "constraints": LinearConstraint, "implications": Implication, "notes": str}
        given = {"features": features, "constraints": constraints, "implications": implications, "notes": notes}
        for part, kind in kinds.items():
            values = given[part]
            if not is_list(values) or not all(isinstance(v, kind) for v in values):
                raise SchemaError(
                    f"Schema: `{part}` must be a list of {kind.__name__} objects; got {shown(values)}. To read a "
                    "file or plain types use Schema.load or Schema.from_dict."
                )
            object.__setattr__(self, part, tuple(values))
        object.__setattr__(self, "_by_name", {f.name: f for f in reversed(self.features)})
        self._check()

    def __eq__(self, other: object) -> bool:
        # By digest rather than by ==, which takes the level 1 for True and would disagree with the hash.
        return isinstance(other, Schema) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each column."""
        heads = ("column", "called", "kind", "may change", "values", "unit", "cost", "protected")
        rows = [
            (
                f.name, f.title, f.kind, f.direction if f.transitions is None else "by transitions", _values(f),
                f.unit or "", f"{f.cost_weight:g}", "yes" if f.protected else "",
            )
            for f in self
        ]  # fmt: skip
        n, m = len(self.constraints), len(self.implications)
        across = f", {n} linear constraints and {m} implications" if n or m else ""
        return table(heads, rows, f"Schema of {len(self)} columns{across}")

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def __getitem__(self, name: str) -> Feature:
        if name in self:
            return self._by_name[name]
        raise SchemaError(f"Schema: unknown feature; got {shown(name)}. {did_you_mean(name, self.names)}")

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return [f.name for f in self.features]

    def replace(self, /, **changes: Mapping[str, object]) -> "Schema":
        """Return a copy with fields of some features changed: ``schema.replace(age={"direction": "fixed"})``."""
        for name in changes:
            self[name]
        features = [f.replace(**changes[f.name]) if f.name in changes else f for f in self.features]
        return Schema(features, self.constraints, self.implications, self.notes)

    # ---- files --------------------------------------------------------------------------------------

    def to_dict(self) -> JsonObject:
        """Return plain types for YAML and JSON. Notes are left out: they describe a guess, not the data."""
        out: JsonObject = {"holdtrue_schema": FORMAT, "features": [f.to_dict() for f in self.features]}
        if self.constraints:
            out["constraints"] = [c.to_dict() for c in self.constraints]
        if self.implications:
            out["implications"] = [i.to_dict() for i in self.implications]
        return out

    @classmethod
    def from_dict(cls, raw: Json) -> "Schema":
        """Build a schema from the plain types of a YAML or JSON file."""
        if not isinstance(raw, Mapping) or "features" not in raw:
            raise SchemaError(
                f"Schema: a schema must be a mapping with `features`; got {shown(raw)}. See "
                "docs/how-to/describe-your-columns.md."
            )
        known = ("holdtrue_schema", "features", "constraints", "implications")
        for key in raw:
            if key not in known:
                raise SchemaError(f"Schema: unknown section; got {shown(key)}. {did_you_mean(key, known)}")
        version = raw.get("holdtrue_schema", FORMAT)
        if version != FORMAT:
            raise SchemaError(
                f"Schema: `holdtrue_schema`, the format, must be {FORMAT}; got {shown(version)}. Upgrade "
                "holdtrue, or correct the file."
            )
        for section in known[1:]:
            part = raw.get(section, [])
            if not is_list(part):
                raise SchemaError(
                    f"Schema: `{section}` must be a list; got {shown(part)}. Start each entry with a dash in "
                    "YAML, or put them in [...] in JSON."
                )
        return cls(
            [Feature.from_dict(f) for f in raw["features"]],
            [LinearConstraint.from_dict(c) for c in raw.get("constraints", [])],
            [Implication.from_dict(i) for i in raw.get("implications", [])],
        )

    def to_json(self) -> str:
        """Return the schema as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """Read JSON text."""
        try:
            raw = parse_json(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise SchemaError(f"Schema: not valid JSON ({error}); got {shown(text)}. Check the file.") from error
        return cls.from_dict(raw)

    def to_yaml(self, *, annotated: bool = False) -> str:
        """Return the schema as YAML text; annotated, with the `notes` and fields at their defaults as remarks."""
        import yaml

        if annotated:
            from holdtrue.schema._annotated import annotated as with_remarks

            return with_remarks(self)

        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)

    @classmethod
    def from_yaml(cls, text: str) -> "Schema":
        """Read YAML text; tags that would run code are refused."""
        try:
            raw = parse_yaml(text)
        except Exception as error:  # PyYAML lets any type through: "!!bool x" is a KeyError
            raise SchemaError(f"Schema: not valid YAML ({error}); got {shown(text)}. Check the file.") from error
        return cls.from_dict(raw)

    def save(self, path: str | Path) -> None:
        """Write the schema; the ending ``.json`` chooses JSON, anything else YAML."""
        try:
            path = Path(path)
            path.write_text(self.to_json() if path.suffix == ".json" else self.to_yaml(), encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise SchemaError(
                f"Schema: cannot write the file ({error}); got {shown(path)}. Check the folder and its rights."
            ) from error

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a schema file; the ending ``.json`` means JSON, anything else YAML."""
        try:
            path = Path(path)
            text = path.read_text(encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise SchemaError(
                f"Schema: cannot read the file ({error}); got {shown(path)}. Check the path; the text is UTF-8."
            ) from error
        return cls.from_json(text) if path.suffix == ".json" else cls.from_yaml(text)

    def digest(self) -> str:
        """SHA-256 of the schema, equal for equal schemas."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, default=str).encode()).hexdigest()

    # ---- tables -------------------------------------------------------------------------------------

    @classmethod
    def infer(
        cls,
        table: TableLike,
        target: str | None = None,
        *,
        drop: Iterable[str] = (),
        reads: Iterable[str] | None = None,
    ) -> "Schema":
        """Guess a schema from a table; `notes` says what was guessed and why.

        Columns that are no features (identifiers, dates, free text, constants, copies of the target) are left out,
        those that nobody can change are fixed, bounds are the 1st and 99th percentile of people.

        Parameters
        ----------
        table : dataframe
        target : str, optional
            The label column.
        drop : names of columns
            To be left out.
        reads : names of columns, optional
            What a model reads: described, and fixed, where it would be left out.
        """
        from holdtrue.schema._infer import infer

        return infer(table, target, drop=drop, reads=reads)

    def resolve(self, table: TableLike) -> "Schema":
        """Fill in bounds and levels that were left open, from the table; check the table on the way."""
        table = self.check(table, unseen_levels_ok=True)
        if table.n_rows == 0:
            raise DataError("Schema: the table is empty; got 0 rows. Give at least one row per class.")
        features = [resolve_feature(f, table) for f in self.features]
        return Schema(features, self.constraints, self.implications, self.notes)

    def check(self, data: TableLike, *, unseen_levels_ok: bool = False, where: str = "Table") -> Table:
        """Return the table as numpy columns, or say which column cannot be used and what to do."""
        table = as_table(data, where=where)
        absent = [name for name in self.names if name not in table.columns]
        if absent:
            raise DataError(
                f"{where}: columns of the schema are absent; got {absent[:5]!r}. "
                f"{did_you_mean(absent[0], table.names)}"
            )

        def check_all() -> None:
            for feature in self.features:
                check_column(feature, table, where, unseen_levels_ok)

        table.remember("checked but for levels" if unseen_levels_ok else "checked", self, self.names, check_all)
        return table

    def refusals(self, data: TableLike, *, where: str = "Table") -> dict[int, str]:
        """Rows that `check` does not allow, each with the reason; those left can be used, read anew."""
        table = as_table(data, where=where)
        try:
            self.check(table, where=where)
        except DataError:
            if not set(self.names) <= set(table.columns):
                raise  # no row can be used
        else:
            return {}
        out: dict[int, str] = {}
        for feature in self.features:
            for row, reason in refused_rows(feature, table, where).items():
                out.setdefault(row, reason)
        return dict(sorted(out.items()))

    def _check(self) -> None:
        if not self.features:
            raise SchemaError("Schema: `features` is empty; got []. Describe at least one column.")
        counts = Counter(self.names)
        for name in counts:
            if counts[name] > 1:
                raise SchemaError(f"Schema: a feature is described twice; got {name!r}. Keep one of them.")
        for constraint in self.constraints:
            for key in constraint.coefficients:
                self.term(key)
        for implication in self.implications:
            for part in (implication.was, implication.when, implication.then):
                for name, levels in part.items():
                    self._check_levels(name, levels)

    def term(self, key: str) -> tuple[Feature, Level | None]:
        """Read a key of a linear constraint: a feature, or ``"feature=level"`` for a categorical one."""
        if key in self:
            feature = self[key]
            if feature.kind == "categorical":
                raise SchemaError(
                    f"Schema: categorical feature {key!r} enters a constraint by its levels; got {key!r}. "
                    f"Write '{key}=<level>'."
                )
            return feature, None
        # A name may itself hold "=": the longest feature that begins the key.
        owners = [n for n in self.names if key.startswith(f"{n}=")]
        name = max(owners, key=len, default=key.partition("=")[0])
        text = key[len(name) + 1 :]
        feature = self[name]
        if feature.kind != "categorical":
            raise SchemaError(
                f"Schema: only categorical features enter a constraint by level; got {key!r}. Write {name!r}."
            )
        for level in feature.levels or (text,):
            if str(level) == text:
                return feature, level
        if feature.knows(text):
            return feature, text
        raise SchemaError(
            f"Schema: unknown level in a constraint; got {key!r}. "
            f"{did_you_mean(text, [str(v) for v in feature.levels or ()])}"
        )

    def _check_levels(self, name: str, levels: Sequence[Level]) -> None:
        feature = self[name]
        if not feature.has_levels:
            raise SchemaError(
                f"Schema: an implication may only name features with levels; got {name!r} of kind "
                f"{feature.kind!r}. Use a linear constraint for numbers."
            )
        for level in levels:
            if not feature.knows(level):
                raise SchemaError(
                    f"Schema: an implication names an unknown level of {name!r}; got {level!r}. Levels are "
                    f"{shown(list(feature.levels or ()))}."
                )


def _values(feature: Feature) -> str:
    """Bounds and step, or the first levels."""
    if feature.levels is not None:
        shown = ", ".join(str(level) for level in feature.levels[:SHOWN])
        return shown + (f", and {len(feature.levels) - SHOWN} more" if len(feature.levels) > SHOWN else "")
    if feature.bounds is None:
        return ""
    low, high = feature.bounds
    return f"{low:,g} to {high:,g}" + (f" by {feature.step:g}" if feature.step is not None else "")
