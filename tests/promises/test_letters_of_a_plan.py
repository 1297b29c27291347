"""A plan's letters say what the plan says."""

from datetime import UTC, datetime

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.testing import _world as world

pytest.importorskip("jinja2", reason="jinja2 is not installed: pip install 'holdtrue[serve]'")
ISSUED = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def clf():
    table, y = world.people()
    regime = ht.StandardTraining(n_epochs=60, step_size=0.02)
    method = ht.Wachter(n_steps=100, random_state=0)
    return ht.RecourseClassifier(
        schema=world.PLAIN, model=ht.Linear(), regime=regime, method=method, threshold=0.6, random_state=0
    ).fit(table, y)


def test_everyone_with_a_recourse_gets_one(clf):
    table, _ = world.people()
    people = table.head(30)  # accepted ones among them
    plan = clf.recourse(people, n_recourses=3)
    keys = np.array([f"no. {i}" for i in range(len(people))])
    records = ht.records(plan, keys[plan.person], valid_for=30, issued=ISSUED)
    letters = ht.letters(records, words={0: "declined", 1: "approved"}, at=ISSUED)
    assert [letter.subject for letter in letters] == [f"no. {i}" for i in np.unique(plan.person[plan.found])]
    sentences = np.array(plan.changes())
    for letter in letters:
        rows = plan.found & (keys[plan.person] == letter.subject)
        assert list(letter.options) == sentences[rows].tolist()
        assert "declined" in letter.text
        assert "holds until 31 May 2026" in letter.text
        # Whose age or sex would have to change is not told so: nobody is asked for it.
        assert " age " not in letter.text
        assert " sex " not in letter.text
    assert any(len(letter.options) > 1 for letter in letters)
