"""The model file, the method and the limits of single people, as a command was given them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdtrue._types import JsonObject, Keywords
from holdtrue.cli._options import configure
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from holdtrue.classifier import AbstractClassifier
    from holdtrue.server import Applicants


def load_model(path: str) -> "AbstractClassifier":
    """Read a model file."""
    from holdtrue.classifier import load

    return load(path)


def choose_method(classifier: Any, name: str | None, settings: Keywords, reference: str | None) -> Any:
    """Return the fitted method that was asked for, or the classifier's own.

    Where the classifier holds, names and settings mean the method that searches: its guides are kept about that.
    """
    from sklearn.base import clone

    from holdtrue.hold import Holding
    from holdtrue.methods import method as by_name
    from holdtrue.runs import Source

    own = classifier.method_
    inner = own.unfitted_base() if isinstance(own, Holding) else own
    cls = type(inner) if name is None or by_name(name) is type(own) else by_name(name)
    same = cls is type(inner)
    if same and not settings and (reference is None or not cls.needs_rows):
        return own
    make = (lambda: clone(inner)) if same else cls
    chosen = configure(make, settings)
    if cls.needs_rows and reference is None:
        raise DataError(
            f"{cls.__name__}: needs training rows, which the model file does not hold for it; got no --reference. "
            "Give the table that the model learned from."
        )
    rows = None if reference is None else Source(reference).whole(classifier.schema_)
    fitted = chosen.fit(classifier, rows, **_guides(cls, own))
    return own.around(fitted) if same and isinstance(own, Holding) else fitted


def _guides(cls: Any, own: object) -> Keywords:
    """The model file's guides, for a method that searches with some."""
    from holdtrue.hold import Holding

    if not cls.needs_guides:
        return {}
    if not isinstance(own, Holding):
        raise DataError(
            f"{cls.__name__}: searches with models trained again, of which the model file has none; got one made "
            "with --hold none. Fit it without that, or choose another --method."
        )
    return {"guides": own.guides_}


def read_restrictions(path: str | None) -> dict[int, JsonObject]:
    """Read a JSON file that maps row positions to restrictions."""
    if path is None:
        return {}
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"--restrictions: cannot be read; got {path!r} ({error}). Give a JSON file.") from error
    if isinstance(raw, list):
        raw = {i: restriction for i, restriction in enumerate(raw) if restriction}
    if not isinstance(raw, dict):
        raise DataError(f"--restrictions: must map rows to restrictions; got {type(raw).__name__} in {path!r}.")
    try:
        return {int(row): restriction for row, restriction in raw.items()}
    except ValueError as error:
        raise DataError(f"--restrictions: keys must be row numbers, from 0; got {error} in {path!r}.") from error


def reasoner_of(
    classifier: Any, reference: str | None, codes: str | None, schema: str | None = None, **options: Any
) -> Any:
    """What gives the reasons of a model's refusals; None without reference rows."""
    from holdtrue.runs import Source
    from holdtrue.runs import reasoner_of as of_rows
    from holdtrue.schema import Schema

    if reference is None:
        if codes is not None:
            raise DataError(f"--codes: is for reasons, which need --reference; got {codes!r} without it.")
        return None
    rows = Source(reference).whole(classifier.schema_)
    return of_rows(classifier, rows, codes, None if schema is None else Schema.load(schema), **options)


def applicants_of(table: str, subject: str, classifier: "AbstractClassifier") -> "Applicants":
    """People of a table, each under the key in a column."""
    from holdtrue.runs import Source
    from holdtrue.schema import did_you_mean
    from holdtrue.server import Applicants

    rows = Source(table).whole(classifier.schema_)
    if subject not in rows.columns:
        raise DataError(f"--subject: no such column; got {subject!r}. {did_you_mean(subject, list(rows.columns))}")
    return Applicants(rows, rows[subject].tolist(), classifier.schema_)
