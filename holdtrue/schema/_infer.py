"""A first schema from a table, with every guess said aloud."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from holdtrue._types import Keywords
from holdtrue.errors import DataError
from holdtrue.schema import _detect as seen
from holdtrue.schema import _lexicon as lexicon
from holdtrue.schema._checks import did_you_mean, is_level, shown
from holdtrue.schema._columns import LARGEST, sorted_levels
from holdtrue.schema._feature import MISSING_LEVEL, Feature
from holdtrue.schema._guess import ColumnGuess, Guess
from holdtrue.schema._levels import sex_by_letter, who
from holdtrue.schema._lexicon import first_word, has_word, spoken, words_of
from holdtrue.schema._schema import Schema
from holdtrue.schema._table import Table, TableLike, as_table, holds_dates
from holdtrue.schema._units import unit_of, without_unit

MANY_MISSING = 0.3  # from here on, it is worth asking why
TRIMMED_FROM = 100  # rows, with fewer of which a percentile says nothing


class Declared(NamedTuple):
    """What the dataframe itself says of a column of categories."""

    levels: tuple
    ordered: bool


def infer(
    data: TableLike, target: str | None = None, *, drop: Iterable[str] = (), reads: Iterable[str] | None = None
) -> Schema:
    """Guess a schema from a table; see `guess`."""
    return guess(data, target, drop=drop, reads=reads).schema


def guess(
    data: TableLike, target: str | None = None, *, drop: Iterable[str] = (), reads: Iterable[str] | None = None
) -> Guess:
    """Guess what each column of a table is and how it may change.

    Texts become categorical, two-valued columns binary, whole numbers integer, other numbers numeric. Columns
    whose names or levels speak of sex, origin, faith, health, family or age are fixed and protected, those of
    places, of the past and of the economy fixed; time passed, income and savings may only rise, debts and what
    measures them only fall. Identifiers, dates, free text, constants, texts with too many levels and copies of the
    target are left out. Bounds are the 1st and 99th percentile of people, steps two digits of their spread. Read
    the notes, then correct what is wrong: nobody but the owner of the data knows what a person can change.

    Parameters
    ----------
    data : dataframe
        pandas, polars or pyarrow; or a mapping of columns.
    target : str, optional
        The label column: left out, and other columns are held against it.
    drop : names of columns
        To be left out.
    reads : names of columns, optional
        What a model reads: these are described, fixed at least, where they would be left out.
    """
    table = as_table(data, where="Schema.infer")
    if table.n_rows == 0:
        raise DataError("Schema.infer: the table is empty; got 0 rows. Give a table with rows.")
    dropped = _names(table, drop)
    labels = None
    if target is not None:
        _check_target(table, target)
        labels = np.array([str(v) for v in table.columns[target].tolist()], object)
    declared = _declared_categories(table)
    needed = set() if reads is None else set(reads)
    few: dict[str, np.ndarray] = {}
    for name in table.names:
        texts = None if name in (target, *dropped) else _few_texts(table, name)
        if texts is not None:
            few[name] = texts
    calls = Counter(map(spoken, table.names))  # of two columns neither gets a name that they would share
    columns = []
    for name in table.names:
        if name == target:
            continue
        if name in dropped:
            columns.append(ColumnGuess(name, None, ("left out, as you said.",)))
            continue
        called = spoken(name) if calls[spoken(name)] == 1 else name
        columns.append(_Looking(table, name, declared.get(name), labels, few, name in needed, called).guess())
    return Guess(tuple(_without_units(columns)))


def _names(table: Table, drop: Iterable[str]) -> tuple[str, ...]:
    names = (drop,) if isinstance(drop, str) else tuple(drop)
    for name in names:
        if name not in table.columns:
            raise DataError(
                f"Schema.infer: `drop` names a column that is not there; got {shown(name)}. "
                f"{did_you_mean(name, table.names)}"
            )
    return names


def _few_texts(table: Table, name: str) -> np.ndarray | None:
    """The values as texts, where there are few; None for any other column."""
    values = table.columns[name]
    if values.dtype.kind not in "Oib" or not all(v is None or is_level(v) for v in values.tolist()):
        return None
    texts = [MISSING_LEVEL if v is None else str(v) for v in values.tolist()]
    return np.array(texts, object) if len(set(texts)) <= 20 else None


def _check_target(table: Table, target: object) -> None:
    if not isinstance(target, str) or target not in table.columns:
        raise DataError(
            f"Schema.infer: `target` is not a column; got {shown(target)}. Columns are {shown(table.names)}."
        )
    values = table.columns[target][~table.missing(target)]
    if values.dtype == object and not all(is_level(v) for v in values):
        raise DataError(
            f"Schema.infer: target {target!r} must hold text, numbers or booleans; got "
            f"{shown(next(v for v in values if not is_level(v)))}. Turn it into text."
        )
    classes = sorted_levels(values)
    if len(classes) < 2:
        raise DataError(
            f"Schema.infer: target {target!r} has one class; got {shown(list(classes))}. A classifier needs two; "
            "check the table."
        )


@dataclass
class _Looking:
    """One column being looked at."""

    table: Table
    name: str
    declared: Declared | None
    labels: np.ndarray | None
    few: dict[str, np.ndarray]
    needed: bool
    called: str
    why: list[str] = field(default_factory=list)
    doubt: str | None = None

    def guess(self) -> ColumnGuess:
        values, absent = self.table.columns[self.name], self.table.missing(self.name)
        present = values[~absent]
        reason = self._no_feature(values, absent, present)
        if reason is not None and not (self.needed and self._can_be_described(values, present)):
            return ColumnGuess(self.name, None, (f"left out, {reason}.",), self.doubt)
        self._check_values(values, present)
        fields: Keywords = {"name": self.name}
        levels = sorted_levels(present)
        if self.declared is not None and self.declared.ordered and len(self.declared.levels) > 1:
            fields |= {"kind": "ordinal", "levels": self.declared.levels}
            self.why.append(f"ordinal, {len(self.declared.levels)} levels in the table's own order.")
        elif values.dtype.kind == "b":
            self._levels((False, True), False, fields)
        elif self.declared is None and (order := self._order(levels)) is not None:
            fields |= {"kind": "ordinal", "levels": order}
            self.why.append(f"ordinal, {len(order)} levels in the order of their numbers, {order[0]!r} first.")
        elif values.dtype.kind not in "fib" or self.declared is not None:
            if len(levels) == 1 and self.declared is not None:
                levels = self.declared.levels
            self._levels(levels, bool(absent.any()), fields)
        elif len(levels) == 2 and set(levels) <= {0, 1}:
            fields |= {"kind": "binary", "levels": levels}
            self.why.append(f"binary, {levels[0]!r} or {levels[1]!r}.")
        else:
            self._number(present.astype(np.float64), fields)
        if absent.any():
            self._missing(absent, fields)
        if reason is not None:
            fields["direction"] = "fixed"
            self.why.append(f"fixed, {reason}; the model reads it.")
        else:
            self._direction(present, fields)
        asks = self._unit(present.astype(np.float64), fields) if fields["kind"] in ("numeric", "integer") else None
        if self.called != self.name:
            fields["label"] = self.called
        return ColumnGuess(self.name, Feature(**fields), tuple(self.why), self.doubt, asks)

    # ---- no feature ---------------------------------------------------------------------------------

    def _no_feature(self, values: np.ndarray, absent: np.ndarray, present: np.ndarray) -> str | None:
        """Why the column is no feature; None where it is one."""
        if len(present) == 0:
            return "it has no value at all"
        if holds_dates(values):
            return "it holds dates; derive a number from it, for example days since the application"
        if values.dtype == object and not all(is_level(v) for v in present):
            return None  # refused below, with the value
        words = words_of(self.name)
        levels = sorted_levels(present)
        if len(levels) == 1 and not absent.any():
            return f"it is constant: {shown(levels[0])} in every row"
        if seen.holds_text_dates(present):
            about = " of birth" if has_word(words, lexicon.AGE) else ""
            return (
                f"it holds dates{about} as text; derive a number from it, for example days since the application"
            )
        if self.declared is None or not self.declared.ordered:
            identifier = seen.is_identifier(self.name, present, len(levels))
            if identifier is not None:
                if present.dtype == object and seen.is_free_text(present):
                    return f"it is free text: {identifier}"
                return f"it looks like an identifier: {identifier}"
        if present.dtype == object and len(levels) > seen.MOST_LEVELS and not has_word(words, lexicon.PLACE):
            self.doubt = "Are there a few groups that these texts fall into?"
            kind = "free text" if seen.is_free_text(present) else f"{len(levels):,} different texts are too many"
            return f"{kind}; put them into a few groups to use it"
        if absent.mean() >= 0.95 and self.table.n_rows >= seen.FEW_ROWS:
            return f"it is missing for {absent.mean():.0%}"
        if self.labels is not None:
            how = seen.gives_away(values, absent, self.labels)
            if how == "copy":
                self.doubt = "Is it known before the decision?"
                return "it nearly is the label under another name"
            if how == "cut":
                self.doubt = "It tells the label nearly by itself: is it known before the decision?"
                self.why.append("one cut of it tells the label nearly by itself.")
        return None

    def _can_be_described(self, values: np.ndarray, present: np.ndarray) -> bool:
        if len(present) == 0 or holds_dates(values):
            return False
        # A constant number or yes and no is itself; a text takes others beside it, which only a declaration names.
        declared = 0 if self.declared is None else len(self.declared.levels)
        return len(sorted_levels(present)) > 1 or values.dtype.kind in "fib" or declared > 1

    def _check_values(self, values: np.ndarray, present: np.ndarray) -> None:
        if values.dtype.kind == "f" and not np.isfinite(present).all():
            count = int((~np.isfinite(present)).sum())
            raise DataError(
                f"Schema.infer: column {self.name!r} has infinite values; got {count} of {self.table.n_rows}. "
                "Replace them."
            )
        if values.dtype == object and not all(is_level(v) and v != MISSING_LEVEL for v in present):
            odd = next(v for v in present if not is_level(v) or v == MISSING_LEVEL)
            raise DataError(
                f"Schema.infer: column {self.name!r} must hold text (but {MISSING_LEVEL!r}, which is reserved), "
                f"finite numbers or booleans; got {shown(odd)}. Turn it into text, or drop it."
            )

    def _order(self, levels: tuple) -> tuple | None:
        """Levels by the numbers in them, unless those name places or stand for something."""
        coded = has_word(words_of(self.name), (*lexicon.PLACE, *lexicon.CODES))
        return None if coded else seen.in_order(levels)

    # ---- kinds --------------------------------------------------------------------------------------

    def _levels(self, levels: tuple, has_missing: bool, fields: Keywords) -> None:
        if len(levels) == 2 and not has_missing:
            fields |= {"kind": "binary", "levels": levels}
            self.why.append(f"binary, {levels[0]!r} or {levels[1]!r}.")
            return
        fields |= {"kind": "categorical", "levels": (*levels, MISSING_LEVEL) if has_missing else levels}
        self.why.append(f"categorical, {len(levels)} levels.")

    def _number(self, present: np.ndarray, fields: Keywords) -> None:
        low, high = float(present.min()), float(present.max())
        whole = np.array_equal(present, np.round(present)) and max(abs(low), abs(high)) <= LARGEST
        own = 1.0 if whole else _decimal_step(present)
        step = own
        enough = len(present) >= TRIMMED_FROM and len(np.unique(present)) > 20
        if enough:
            step = seen.usual_step(present, own)
        elif own and len(present) >= seen.FEW_ROWS:
            step = seen.common_step(present, own)
        percentiles = ""
        if enough:
            ends = np.quantile(present, [0.01, 0.99], method="closest_observation")
            if ends[0] < ends[1]:
                unit = step or (ends[1] - ends[0]) / 1e6
                inner = max(low, _down(ends[0], unit)), min(high, -_down(-ends[1], unit))
                if inner != (low, high):
                    percentiles = f", the 1st and 99th percentile of people, who are between {low:g} and {high:g}"
                low, high = inner
        fields |= {"kind": "integer" if whole else "numeric", "bounds": (low, high)}
        steps = ""
        if (step or 0) > (1.0 if whole else 0.0):
            fields["step"] = step
            steps = f" in steps of {step:g}"
        code = seen.code_for_unknown(present)
        if code is not None:
            self.doubt = f"Does {code:g} mean that it is not known? Then leave those cells empty."
            steps += f"; {code:g} looks like a code for what is not known"
        what = "whole number" if whole else "number"
        self.why.append(f"{what} between {low:g} and {high:g}{steps}{percentiles}.")

    def _missing(self, absent: np.ndarray, fields: Keywords) -> None:
        share, words = absent.mean(), words_of(self.name)
        hint = {"categorical": "level", "binary": "most_frequent", "ordinal": "most_frequent"}
        how: Any = hint.get(fields["kind"], "median")
        when = seen.missing_when(self.table, self.name, self.few)
        reason = "" if when is None else f", always when {when}"
        if how == "median" and has_word(words, lexicon.EVENT) and has_word(words, lexicon.TIME):
            how = fields["bounds"][1]
            reason += ": what never was counts as longest ago"
        elif share >= MANY_MISSING and fields["kind"] != "categorical":
            self.doubt = "What does it mean where it is missing? Where it means none, write missing: 0."
        fields["missing"] = how
        self.why.append(f"{int(absent.sum())} missing values ({share:.0%}{reason}), handled as missing={how!r}.")

    def _unit(self, present: np.ndarray, fields: Keywords) -> str | None:
        """The unit, where name or values tell it; else what is to be asked of it."""
        found = unit_of(self.name, present)
        if found.why is not None:
            self.why.append(found.why)
        if found.unit is not None:
            fields["unit"] = found.unit
        return found.ask

    # ---- direction ----------------------------------------------------------------------------------

    def _direction(self, present: np.ndarray, fields: Keywords) -> None:
        words = words_of(self.name)
        of_a_thing = has_word(words, lexicon.OF_A_THING)
        number = fields["kind"] in ("numeric", "integer")
        for what, entries, unless in lexicon.PROTECTED:
            word = first_word(words, entries)
            if word is not None and not has_word(words, unless):
                fields |= {"direction": "fixed", "protected": True}
                self.why.append(f"fixed and protected, because of its name: {word!r} is about {what}.")
                return
        told = None if number else who(self.name, fields["levels"])
        if told is not None:
            self._protect(fields, told)
            return
        time = first_word(words, lexicon.TIME)
        ranked = number or fields["kind"] == "ordinal"
        passes = time is not None and ranked and not has_word(words, lexicon.TERM)
        if passes and has_word(words, lexicon.OWN_DEED) and has_word(words, (*lexicon.EVENT, "ago")):
            self.doubt = "May a person change it, and in which direction?"
            self.why.append(
                "free to change, because of its name: it is the time since what a person may do today."
            )
            return
        if passes and number and bool(((present >= 1900) & (present <= 2100)).all()):
            fields["direction"] = "fixed"
            self.why.append("fixed, since it is a year of the calendar.")
            return
        if passes and _counts_in_a_span(words):
            fields["direction"] = "fixed"
            self.why.append("fixed, since its name speaks of what was in a span of time.")
            return
        if passes and (of_a_thing or has_word(words, lexicon.SINCE) or not has_word(words, lexicon.PAST)):
            fields["direction"] = "increase"
            self.why.append(f"only rises, because of its name: {time!r} is time that passes.")
            return
        for what, entries in lexicon.FIXED:
            word = first_word(words, entries)
            if word is not None:
                fields["direction"] = "fixed"
                self.why.append(f"fixed, because of its name: {word!r} is about {what}.")
                if entries is lexicon.PLACE and number:
                    self.doubt = "Do its numbers name places? Leave it out, or make it categorical."
                return
        if has_word(words, lexicon.CODES) and fields["kind"] == "integer":
            fields["direction"] = "fixed"
            self.doubt = "Does a number stand for something, so that more is not more? Then make it categorical."
            self.why.append("fixed, because its numbers are codes by its name.")
            return
        learned = first_word(words, lexicon.LEARNING)
        if learned is not None and not has_word(words, lexicon.NO_LEARNING):
            ordered = fields["kind"] not in ("categorical", "binary")
            fields["direction"] = "increase" if ordered else "fixed"
            how = "only rises" if ordered else "fixed"
            told = "" if ordered else ", and the order is not known: write kind: ordinal, with levels in order"
            self.why.append(f"{how}, because of its name: {learned!r} is not lost again{told}.")
            self.doubt = None if ordered else "May a person learn more, and in what order?"
            return
        letters = None if number else sex_by_letter(fields["levels"])
        if letters is not None:
            self._protect(fields, ("sex", *letters))
            self.doubt = "Is it whether a person is a woman or a man?"
            return
        if number and seen.heavy_tailed(present.astype(np.float64)):
            fields["cost"] = "percentile"
            self.why.append("a change costs by the people it passes, since a few lie far from the rest.")
        self.doubt = self.doubt or "May a person change it, and in which direction?"
        if not (ranked and self._one_way(words, fields)):
            how = ", any level to any other" if fields["kind"] == "categorical" else ""
            self.why.append(f"free to change{how}, since nothing in its name speaks against it.")

    def _protect(self, fields: Keywords, told: tuple[str, str, str]) -> None:
        what, one, other = told
        fields |= {"direction": "fixed", "protected": True}
        self.why.append(
            f"fixed and protected, because of its levels: {shown(one)} and {shown(other)} are about {what}."
        )

    def _one_way(self, words: Sequence[str], fields: Keywords) -> bool:
        """Whether a number may be changed in one direction only, since advice to go the other way is none."""
        ways = (
            ("decrease", "falls", lexicon.BURDEN, lexicon.NO_BURDEN, "more"),
            ("increase", "rises", lexicon.MEANS, lexicon.NO_MEANS, "less"),
        )
        for direction, goes, entries, exceptions, other in ways:
            word = first_word(words, entries)
            if word is not None and not has_word(words, exceptions):
                fields["direction"] = direction
                self.why.append(f"only {goes}, because of its name: nobody is advised to have {other} {word!r}.")
                return True
        return False


def _without_units(columns: Sequence[ColumnGuess]) -> Iterator[ColumnGuess]:
    """The columns, called without the unit that follows their numbers, where no other is called the same."""
    shorter = {}
    for column in columns:
        if column.feature is not None:
            title, unit = column.feature.title, column.feature.unit
            shorter[column.name] = title if unit is None else without_unit(title, unit)
    calls = Counter([*shorter.values(), *(c.name for c in columns if c.name not in shorter.values())])
    for column in columns:
        feature = column.feature
        if feature is None or shorter[column.name] == feature.title or calls[shorter[column.name]] > 1:
            yield column
        else:
            yield replace(column, feature=feature.replace(label=shorter[column.name]))


def _counts_in_a_span(words: Sequence[str]) -> bool:
    """Whether a name has a length of time in it, such as `6mths` or `2 years`."""
    return any(a.isdigit() and has_word([b], lexicon.TIME) for a, b in pairwise(words))


def _decimal_step(present: np.ndarray) -> float:
    """The spacing of numbers with one or two decimals; 0 for any other."""
    for decimals in (1, 2):
        with np.errstate(over="ignore"):  # rounding multiplies by ten, beyond the largest float for some
            rounded = np.round(present, decimals)
        if np.isfinite(rounded).all() and np.allclose(present, rounded, rtol=1e-12, atol=1e-12):
            return 10.0**-decimals
    return 0.0


def _down(value: float, unit: float) -> float:
    """The next multiple of a unit below, as people write it."""
    decimals = int(max(0, np.ceil(-np.log10(unit) - 1e-9)))
    return float(round(np.floor(value / unit + 1e-9) * unit, min(decimals, 15)))


def _declared_categories(table: Table) -> dict[str, Declared]:
    """Columns that the dataframe declares as categories; ordered ones in pandas, and Enum in polars."""
    if table.native is None:
        return {}
    frame = nw.from_native(table.native, eager_only=True)
    out = {}
    for name, dtype in frame.schema.items():
        if dtype == nw.Enum:
            out[name] = Declared(tuple(frame[name].cat.get_categories().to_list()), True)
        elif dtype == nw.Categorical and frame.implementation.is_pandas():
            own = table.native[name].dtype
            # Through `as_table`, so that the levels are the same Python values as the cells.
            levels = as_table({name: own.categories.astype(object)}).columns[name].tolist()
            out[name] = Declared(tuple(levels), bool(own.ordered))
        elif dtype == nw.Categorical:
            out[name] = Declared((), False)
    return out
