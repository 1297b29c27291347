"""People to pick from on the case officer's page."""

import threading
from collections.abc import Sequence
from typing import Any

from holdtrue._types import JsonObject
from holdtrue.classifier import rows_of
from holdtrue.errors import DataError
from holdtrue.ledger import check_subject
from holdtrue.schema import Schema, plain

MOST = 20_000  # held in memory, as rows


class Applicants:
    """Rows of a table, each under your own key for the person.

    Parameters
    ----------
    X : dataframe
        In the model's own columns, and any others.
    subjects : sequence
        A key for each row.
    schema : Schema
        The model's.
    """

    def __init__(self, X: Any, subjects: Sequence[object], schema: Schema) -> None:
        table = schema.check(X, where="applicants")
        if len(subjects) != table.n_rows:
            raise DataError(f"applicants: need one key per row; got {len(subjects)} for {table.n_rows} rows.")
        if table.n_rows > MOST:
            raise DataError(
                f"applicants: are held in memory; got {table.n_rows:,} rows, at most {MOST:,} may be. Give those "
                "who wait for a decision."
            )
        self.subjects = [check_subject(str(subject)) for subject in subjects]
        self.rows = rows_of(table, schema)
        self._lock = threading.Lock()
        self._decided: list[JsonObject] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def decided(self, service: Any) -> list[JsonObject]:
        """What the model decides about each, asked once."""
        with self._lock:
            decided = self._decided
            if decided is None:
                decided = self._decided = service.decisions(service.table(self.rows))
            return decided

    def find(self, service: Any, text: str, *, refused: bool) -> list[JsonObject]:
        """Whose key contains a text, in order: `row`, `subject`, `yes` and `chance`; perhaps only the refused."""
        asked, wanted = text.casefold(), plain(service.predictor.favourable)
        out = []
        for i, (subject, told) in enumerate(zip(self.subjects, self.decided(service), strict=True)):
            yes = told["decision"] == wanted
            if asked in subject.casefold() and not (yes and refused):
                chance = told["probabilities"][str(wanted)]
                out.append({"row": i, "subject": subject, "yes": yes, "chance": chance})
        return out
