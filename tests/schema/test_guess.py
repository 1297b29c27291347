"""What a guess makes of a stranger's columns: who is protected, what only rises, what is no feature at all."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from holdtrue.errors import DataError
from holdtrue.schema import Schema, guess
from holdtrue.schema._lexicon import words_of

N = 120
RNG = np.random.default_rng(0)


def column(name: str, values=None) -> tuple[str, bool]:
    """How a number of this name may move, and whether it is protected."""
    values = RNG.integers(1, 90, N) if values is None else values
    feature = Schema.infer({name: values})[name]
    return feature.direction, feature.protected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("DebtToIncome", ["debt", "to", "income"]),
        ("num_of_dependents2", ["num", "of", "dependents", "2"]),
        ("APRRate", ["apr", "rate"]),
        ("Familienstand", ["familienstand"]),
        ("situação-civil", ["situacao", "civil"]),
        ("Straße", ["strasse"]),
    ],
)
def test_names_are_taken_apart(name, words):
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("annual_income", "annual income"), ("totalAssets", "total assets"), ("DebtToIncome", "Debt To Income"),
        ("Beschaeftigt_seit_Jahren", "Beschaeftigt seit Jahren"), ("late_payments_2y", "late payments 2y"),
        ("income", None), ("yearly income", None), ("BMI", None), ("x_1", None), ("_income", "income"),
        ("emp.var.rate", "emp var rate"), ("fico-score", "fico score"),
    ],
)  # fmt: skip
def test_sentences_call_a_column_as_people_do(name, label):
    """Nobody is written to about `annual_income`."""
    assert Schema.infer({name: RNG.integers(1, 90, N)})[name].label == label


def test_two_columns_are_not_called_the_same():
    one = RNG.integers(1, 90, N)
    for names in (["monthly_debt", "monthlyDebt"], ["monthly_debt", "monthly debt"]):
        titles = [feature.title for feature in Schema.infer(dict.fromkeys([*names, "other_debt"], one))]
        assert titles == [*names, "other debt"]


@pytest.mark.parametrize(
    "name",
    [
        "age", "ageGroup", "applicant_sex", "Gender", "is_male", "race_white", "ethnicity", "applicantEthnicity",
        "minority", "pregnant", "NumberOfDependents", "maritalStatus", "single", "marital-status",
        "birth_year", "DateOfBirth", "religion", "nationality", "foreign_worker", "disabled",
        "Geschlecht", "Familienstand", "Geburtsjahr", "Staatsangehörigkeit", "AnzahlKinder",
        "Staatsangehoerigkeit", "STAATSANGEHOERIGKEIT", "Auslaender", "Staatsbürgerschaft", "Anzahl_Kinder",
        "Haushaltsgroesse",
        "sexe", "situation_familiale", "nationalité", "enfants", "sexo", "estadoCivil", "edad", "nacionalidad",
        "hijos", "idade", "estado_civil", "raça", "sesso", "stato_civile", "età", "cittadinanza", "figli",
    ],
)  # fmt: skip
def test_who_people_are_is_fixed_and_protected(name):
    assert column(name) == ("fixed", True)


@pytest.mark.parametrize(
    "name",
    [
        "zip_code", "postalCode", "PLZ", "codigo_postal", "addr_state", "county", "pub_rec_bankruptcies",
        "prior_convictions", "delinq_2yrs", "number_of_times_past_due", "inq_last_6mths", "late_2yrs",
        "credit_history", "previous_loans", "unemployment_rate", "industryUnemployment", "euribor3m",
        "cons.price.idx", "inflación", "mother_job", "antecedentes", "Vorstrafen", "naics_code",
        "Privatinsolvenz", "Mahnungen", "Zahlungsrueckstand", "Pfändungen", "loan_purpose", "Verwendungszweck",
    ],
)  # fmt: skip
def test_the_past_places_and_the_economy_are_fixed(name):
    assert column(name) == ("fixed", False)


@pytest.mark.parametrize(
    "name",
    ["years_employed", "accountAgeMonths", "tenure", "mths_since_last_delinq", "emp_length", "YearsAtCompany",
     "educ", "Jahre_im_Beruf", "BeschäftigtSeit", "Beschäftigtseit", "Dienstjahre", "antigüedad", "anciennete",
     "tempo_de_casa_anos"],
)  # fmt: skip
def test_time_only_rises(name):
    assert column(name) == ("increase", False)


@pytest.mark.parametrize(
    "name", ["amount", "mortgage", "balance", "loan_term_months", "percentage", "usage", "hours_per_week"]
)
def test_what_people_can_do_stays_free(name):
    assert column(name) == ("free", False)


@pytest.mark.parametrize(
    "name", ["wage", "income_per_year", "assets", "Haushaltseinkommen", "Vermoegen", "Vermögen"]
)
def test_means_are_open_to_change_and_only_rise(name):
    assert column(name) == ("increase", False)


def test_what_is_no_feature_is_left_out_with_the_reason():
    label = RNG.integers(0, 2, N)
    words = ["the roof leaks and so on", "a new car for my son", "pay back what I owe now"]
    frame = pd.DataFrame(
        {
            "rownames": np.arange(N),
            "counter": RNG.permutation(N) + 500,
            "customer_key": [f"k{i}" for i in range(N)],
            "opened": pd.date_range("2020-01-01", periods=N),
            "paid_on": [f"{1 + i % 28}.{1 + i % 12}.2015" for i in range(N)],
            "month": [f"{m}-2015" for m in RNG.choice(["Jan", "Feb", "Mar"], N)],
            "stamp": [20150100 + 1 + i % 28 for i in range(N)],
            "wish": [f"{RNG.choice(words)} {i}" for i in range(N)],
            "job": [f"job {i}" for i in RNG.integers(0, 60, N)],
            "country_of_all": "US",
            "nothing": np.nan,
            "hardly": np.where(np.arange(N) < 3, 1.0, np.nan),
            "outcome_code": label * 4 + 3,
            "income": RNG.gamma(4, 900, N).round(2),
            "y": label,
        }
    )
    found = guess(frame, "y")
    assert found.schema.names == ["income"]
    reasons = {c.name: c.why[0] for c in found.columns if c.feature is None}
    for name, why in {
        "rownames": "identifier: of its name", "counter": "it counts the rows", "customer_key": "identifier",
        "opened": "holds dates", "paid_on": "holds dates", "month": "holds dates", "stamp": "holds dates",
        "wish": "free text", "job": "different texts", "country_of_all": "constant",
        "nothing": "no value at all", "hardly": "missing for 98%", "outcome_code": "the label under another name",
    }.items():  # fmt: skip
        assert why in reasons[name], (name, reasons[name])
    assert {c.name for c in found.doubtful} >= {"job", "outcome_code", "income"}


def test_what_a_model_reads_is_described_and_fixed():
    frame = pd.DataFrame({"id": np.arange(N), "income": RNG.gamma(4, 900, N)})
    assert guess(frame).left_out == ["id"]
    schema = Schema.infer(frame, reads=["id", "income"])
    assert schema["id"].direction == "fixed"
    assert schema["income"].direction == "increase"


def test_bounds_steps_and_costs_are_those_people_would_name():
    money = np.exp(RNG.normal(9, 1.2, 2000)).round(2)
    feature = Schema.infer({"assets": money})["assets"]
    low, high = np.quantile(money, [0.01, 0.99])
    assert feature.step == 1000.0  # two digits of the middle half: about 10,000 wide
    assert feature.bounds == (
        max(0.0, money.min()) if low < 1000 else 1000.0 * (low // 1000),
        -1000.0 * (-high // 1000),
    )
    assert feature.cost == "percentile"
    even = Schema.infer({"rate": RNG.uniform(0, 40, 500).round(1)})["rate"]
    assert (even.step, even.cost) == (1.0, "range")
    count = Schema.infer({"lines": RNG.integers(0, 12, 500)})["lines"]
    assert (count.kind, count.step, count.bounds) == ("integer", None, (0.0, 11.0))
    term = Schema.infer({"loan_term_months": RNG.choice([36, 60], 500)})["loan_term_months"]
    assert (term.kind, term.step, term.bounds) == ("integer", 12.0, (36.0, 60.0))
    share = Schema.infer({"share": RNG.choice([0.25, 0.5, 0.75], 500)})["share"]
    assert (share.kind, share.step) == ("numeric", 0.25)
    few = Schema.infer({"x": [1.0, 2.5, 9.0]})["x"]
    assert few.bounds == (1.0, 9.0)


def test_missing_for_a_reason_is_said():
    joint = RNG.choice(["yes", "no"], N)
    income = np.where(joint == "yes", RNG.gamma(4, 900, N), np.nan)
    since = np.where(RNG.random(N) < 0.5, np.nan, RNG.integers(1, 80, N))
    found = guess({"joint": joint, "co_income": income, "months_since_last_default": since})
    notes = " ".join(found.schema.notes)
    assert "always when joint is no" in notes
    longest = found.schema["months_since_last_default"]
    assert longest.missing == longest.bounds[1]
    assert any(c.name == "co_income" and "Where it means none" in c.doubt for c in found.doubtful)
    coded = guess({"term": np.where(RNG.random(N) < 0.1, 999, RNG.integers(1, 40, N))}).columns[0]
    assert "Does 999 mean" in coded.doubt


def test_drop_and_answers():
    frame = pd.DataFrame({"a": RNG.random(N), "b": RNG.random(N)})
    assert Schema.infer(frame, drop=["a"]).names == ["b"]
    with pytest.raises(DataError, match="`drop` names a column that is not there; got 'c'"):
        Schema.infer(frame, drop="c")
    settled = guess(frame).answered("a", "increase").answered("b", "drop")
    assert [(f.name, f.direction) for f in settled.schema] == [("a", "increase")]
    assert not settled.doubtful
    with pytest.raises(DataError, match="no feature column"):
        settled.answered("a", "drop").schema  # noqa: B018


def test_dates_of_every_kind():
    for values in ([dt.date(2020, 1, 1)] * 3, ["2020-01-01T10:00:00"] * 2 + ["2020-01-02T10:00:00"]):
        assert guess({"when": values, "x": [1.0, 2.0, 3.0]}).left_out == ["when"]


@pytest.mark.parametrize(
    ("name", "levels", "direction"),
    [
        ("emp_length", ["< 1 year", "1 year", "2 years", "10+ years"], "increase"),
        ("Beschäftigungsdauer", ["unter 1 Jahr", "1 bis 4 Jahre", "ab 4 Jahre"], "increase"),
        ("ancienneté", ["moins de 2 ans", "2 à 5 ans", "plus de 5 ans"], "increase"),
        ("annual_income", ["<20k", "20k-50k", "50k-100k", ">100k"], "increase"),
        ("total_debt", ["0-999", "1,000-4,999", "5,000+"], "decrease"),
        ("rooms", ["1", "2", "3", "4+"], "free"),
        ("age_band", ["18-25", "26-40", "41-65", "65+"], "fixed"),
    ],
)
def test_ranges_written_as_texts_are_ordered(name, levels, direction):
    values = np.resize(np.array(levels, object), 4 * len(levels))
    feature = Schema.infer({name: np.roll(values, 3)})[name]
    assert (feature.kind, feature.levels, feature.direction) == ("ordinal", tuple(levels), direction)


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("zip", ["10115", "50667", "80331"]), ("area", ["100xx", "606xx", "945xx"]),
        ("sector", ["A1", "B2", "C3"]),
        ("product", ["101", "205", "300"]), ("plan", ["basic", "2 lines", "family"]),
        ("naics_code", ["31-33", "44-45", "11"]),
        ("bit", ["1-2 x", "3-4", "5+"]), ("same", ["1 year", "1 month", "2 years"]),
    ],
)  # fmt: skip
def test_codes_with_numbers_are_not_ordered(name, levels):
    assert Schema.infer({name: np.resize(np.array(levels, object), 12)})[name].kind == "categorical"


def test_names_of_people_are_left_out():
    names = np.resize(np.array(["Ann", "Bob", "Cem"], object), N)
    table = dict.fromkeys(("firstName", "Nachname", "apellido", "prenom"), names) | {"product_name": names}
    assert guess(table).schema.names == ["product_name"]
