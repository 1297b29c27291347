"""A first schema from a table: sensible guesses, said aloud."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdtrue.errors import DataError
from holdtrue.schema import MISSING_LEVEL, Schema


def table(**columns) -> pd.DataFrame:
    base = {
        "age": [30, 40, 50, 60],
        "income": [1.25, 2.5, 3.0, 4.0],
        "rate": [0.123456, 0.2, 0.3, 0.4],
        "home": ["own", "rent", "free", "own"],
        "owner": ["y", "n", "y", "n"],
        "flag": [0, 1, 0, 1],
        "told": [True, False, True, True],
        "y": ["no", "yes", "no", "yes"],
    }
    return pd.DataFrame(base | columns)


def test_kinds_bounds_and_levels() -> None:
    schema = Schema.infer(table(), "y")
    assert [(f.name, f.kind) for f in schema] == [
        ("age", "integer"),
        ("income", "numeric"),
        ("rate", "numeric"),
        ("home", "categorical"),
        ("owner", "binary"),
        ("flag", "binary"),
        ("told", "binary"),
    ]
    assert schema["age"].bounds == (30.0, 60.0)
    assert schema["income"].step == 0.01
    assert schema["rate"].step is None
    assert schema["home"].levels == ("free", "own", "rent")
    assert schema["flag"].levels == (0, 1)
    assert schema["told"].levels == (False, True)
    assert "y" not in schema
    schema.check(table())


def test_every_guess_is_said() -> None:
    schema = Schema.infer(table(age=[30, None, 50, 60], home=["own", None, "rent", "own"]), "y")
    for feature in schema:
        assert any(note.startswith(f"{feature.name}: ") for note in schema.notes)
    assert "age: fixed and protected, because of its name: 'age' is about age." in schema.notes
    assert "age: 1 missing values (25%), handled as missing='median'." in schema.notes
    assert schema["home"].missing == "level"
    assert schema["home"].levels == ("own", "rent", MISSING_LEVEL)


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("age", True),
        ("Sex", True),
        ("race_white", True),
        ("marital-status", True),
        ("mortgage", False),
        ("wage", False),
    ],
)
def test_what_nobody_can_be_asked_to_change_is_fixed(name: str, fixed: bool) -> None:
    assert (Schema.infer({name: [1, 2, 3]})[name].direction == "fixed") is fixed


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("DebtRatio", "decrease"),
        ("debt_to_income", "decrease"),
        ("RevolvingUtilizationOfUnsecuredLines", "decrease"),
        ("loan to value", "decrease"),
        ("Verschuldung", "decrease"),
        ("taux_endettement", "decrease"),
        ("MonthlyIncome", "increase"),
        ("annual_inc", "increase"),
        ("applicantincome", "increase"),
        ("Nettoeinkommen", "increase"),
        ("ahorros", "increase"),
        ("debt service coverage", "free"),  # more of it is better
        ("debt_repaid", "free"),
        ("income_tax", "free"),
        ("income rank", "free"),
        ("amount", "free"),
        ("mortgage", "free"),
    ],
)
def test_nobody_is_advised_to_owe_more_or_to_earn_less(name: str, direction: str) -> None:
    assert Schema.infer({name: [1.5, 2.25, 3.75]})[name].direction == direction
    if direction != "free":
        assert any("nobody is advised to have" in note for note in Schema.infer({name: [1.5, 2.25, 3.75]}).notes)


def test_words_of_means_and_debts_say_nothing_about_categories() -> None:
    assert Schema.infer({"income_type": ["wage", "rent", "wage"]})["income_type"].direction == "free"


def test_declared_categories_are_believed() -> None:
    order = ["low", "mid", "high"]
    pandas = pd.DataFrame({"o": pd.Categorical(["low", "high", "mid"], order, ordered=True)})
    polars = pl.DataFrame({"o": pl.Series(["low", "high", "mid"], dtype=pl.Enum(order))})
    for frame in (pandas, polars):
        feature = Schema.infer(frame)["o"]
        assert (feature.kind, feature.levels) == ("ordinal", tuple(order))
    codes = Schema.infer(pd.DataFrame({"c": pd.Categorical([3, 1, 2])}))["c"]
    assert (codes.kind, codes.levels) == ("categorical", (1, 2, 3))
    ranks = Schema.infer(pd.DataFrame({"c": pd.Categorical([3, 1, None], [3, 2, 1], ordered=True)}))["c"]
    assert (ranks.kind, ranks.levels, ranks.missing) == ("ordinal", (3, 2, 1), "most_frequent")


def test_pandas_and_polars_agree() -> None:
    frame = table(age=[30, None, 50, 60])
    assert Schema.infer(frame, "y") == Schema.infer(pl.from_pandas(frame), "y")


def test_huge_whole_numbers_are_numeric() -> None:
    assert Schema.infer({"x": [1e300, 2e300, 3.0]})["x"].kind == "numeric"
    assert Schema.infer({"x": [1e308, 1.5, 3.0]})["x"].step is None


@pytest.mark.parametrize(
    ("data", "target", "text"),
    [
        (table().head(0), "y", "the table is empty; got 0 rows"),
        (table(), "z", "`target` is not a column; got 'z'"),
        (table(), ["y"], "`target` is not a column"),
        (table(y="no"), "y", "target 'y' has one class; got ['no']"),
        (table(y=[None] * 4), "y", "target 'y' has one class"),
        (table(y=[[1], [2], [1], [2]]), "y", "target 'y' must hold text"),
        (table(rate=[0.1, np.inf, -np.inf, 0.2]), "y", "column 'rate' has infinite values; got 2 of 4"),
        (table(home=[b"a", b"b", b"a", b"b"]), "y", "column 'home' must hold text"),
        (table(home=[["a"], ["b"], ["a"], ["b"]]), "y", "column 'home' must hold text"),
        (table(home=["a", MISSING_LEVEL, "a", "b"]), "y", "reserved"),
        (table()[["y"]], "y", "no feature column"),
        ({"id": [f"p{i}" for i in range(60)]}, None, "no feature column; got ['id']. id: left out, it looks like"),
    ],
)
def test_tables_nothing_can_be_learned_from(data, target, text: str) -> None:
    with pytest.raises(DataError) as caught:
        Schema.infer(data, target)
    assert text in str(caught.value)
    assert str(caught.value).startswith("Schema.infer: ")
    assert "; got " in str(caught.value)
