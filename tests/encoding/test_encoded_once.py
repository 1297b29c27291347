"""What is read from a table is read once: by fit, by recourse, and by an audit of what came out."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.schema import as_table
from holdtrue.testing import _world as world


@pytest.fixture
def encodings(monkeypatch):
    """Rows of every table that is encoded from here on."""
    seen, encode = [], Encoder._encode

    def counted(self, table):
        seen.append(table.n_rows)
        return encode(self, table)

    monkeypatch.setattr(Encoder, "_encode", counted)
    return seen


def test_fit_encodes_its_table_once(encodings):
    X, y = world.people()
    method = ht.SparseSearch()  # learns from the rows, too
    quick = ht.StandardTraining(n_epochs=1)
    ht.RecourseClassifier(schema=world.SCHEMA, model=ht.Linear(), regime=quick, method=method, random_state=0).fit(
        X, y
    )
    assert encodings == [len(X)]


def test_recourse_encodes_people_and_proposals_and_an_audit_nothing(encodings):
    clf = world.classifier("linear", limits=False)
    X = world.people()[0].head(40)
    encodings.clear()
    plan = clf.recourse(X)
    assert sum(encodings) <= 3 * len(X)  # people, proposals, and proposals again where some did not stand
    encodings.clear()
    report = ht.audit(plan, against=[clf, clf])
    assert encodings == []
    assert report.validity == 1.0


def test_rows_taken_are_as_if_encoded_anew():
    X, _ = world.people()
    table = as_table(X)
    encoder = Encoder.fit(world.SCHEMA, table)
    fitted = encoder.encode(table)
    np.testing.assert_array_equal(fitted, encoder.encode(as_table(X)))
    for rows in (np.array([7, 3, 3, 250]), np.arange(300) % 3 == 0, slice(10, 20), np.zeros(0, int)):
        part = table.take(rows)
        anew = encoder.encode(as_table(X.iloc[rows]))
        assert encoder.encode(part).tobytes() == anew.tobytes()
        assert part.missing("job").tolist() == pd.isna(X["job"].iloc[rows]).tolist()
        assert not encoder.encode(part).flags.writeable


def test_another_encoder_has_another_reading(encodings):
    table = as_table(world.people()[0])
    first, second = (Encoder.fit(world.SCHEMA, table, scaling) for scaling in ("minmax", "standard"))
    part = table.take(np.arange(5))
    assert (first.encode(part) != second.encode(part)).any()
    part.columns["debt"] = part.columns["debt"] + 1.0  # a column that is replaced is read again
    encodings.clear()
    assert (first.encode(part)[:, 1] != first.encode(table)[:5, 1]).all()
    assert encodings == [5]
