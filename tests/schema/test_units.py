"""In what a number is counted: guessed where its name or its values tell, asked for where only its owner knows."""

import numpy as np
import pytest

from holdtrue.schema import Schema, guess

N = 200
RNG = np.random.default_rng(0)
WHOLE, MONEY = RNG.integers(1, 90, N), RNG.gamma(4, 900, N).round(2)


def column(name, values=WHOLE):
    return guess({name: values}).columns[0]


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("income_eur", "€", "income"), ("Nettoeinkommen (EUR)", "€", "Nettoeinkommen"),
        ("amountUSD", "$", "amount"),
        ("savings_in_chf", "CHF", "savings"), ("prix_€", "€", "prix"), ("loan_term_months", "months", "loan term"),
        ("LaufzeitMonate", "months", "Laufzeit"), ("Laufzeit_in_Monaten", "months", "Laufzeit"),
        ("duree_mois", "months", "duree"), ("plazo_meses", "months", "plazo"),
        ("tenure_years", "years", "tenure"), ("hours_per_week", "hours", "hours per week"),
        ("years_employed", "years", "years employed"),
        ("months_on_book", "months", "months on book"),
        ("mths_since_last_delinq", "months", "mths since last delinq"),
        ("Beschaeftigt_seit_Jahren", "years", "Beschaeftigt seit Jahren"), ("days_open", "days", "days open"),
        ("downpayment_pct", "%", "downpayment"), ("AnteilProzent", "%", "Anteil"),
        ("interest_rate", "%", "interest rate"),
        ("dti", "%", None), ("age_years", "years", "age"),
    ],
)  # fmt: skip
def test_a_name_tells_the_unit(name, unit, label):
    feature = column(name).feature
    assert (feature.unit, feature.label) == (unit, label)
    assert any(f"in {unit}, because of its name" in note for note in column(name).why)


@pytest.mark.parametrize(
    "name",
    ["score", "late_2yrs", "inq_last_6_months", "num_late_last_12_months", "income_per_year", "birth_year",
     "rooms",
     "number_of_months_late", "heart_rate", "year", "price_index",
     "eurasia", "audit_score", "yearly_income"],
)  # fmt: skip
def test_what_does_not_tell_a_unit_gets_none(name):
    assert column(name).feature.unit is None


def test_calendar_years_and_shares_have_no_unit():
    assert column("contract_years", RNG.integers(1990, 2020, N)).feature.unit is None
    share = column("utilisation_pct", RNG.uniform(0, 1, N).round(2))
    assert share.feature.unit is None
    assert "a share between 0 and 1, though its name speaks of percent." in share.why
    assert column("dti", RNG.uniform(0, 1, N).round(2)).feature.unit is None


def test_terms_are_known_by_their_values():
    feature = column("term", RNG.choice([24, 36, 60], N)).feature
    assert (feature.unit, feature.step) == ("months", 12.0)
    assert column("term", RNG.choice([1, 2, 5], N)).feature.unit is None


def test_money_and_counts_are_said_and_the_currency_is_asked():
    money = column("annual_income", MONEY)
    assert money.feature.unit is None
    assert money.unit == "In which currency?"
    assert "an amount of money, because of its name: 'income'; which currency, only you know." in money.why
    count = column("number_of_cards")
    assert count.why[-1] == "a count, because of its name: 'number'; it needs no unit."
    assert count.unit is None
    assert column("tenure").unit == "In months or in years?"
    assert column("savings_level", ["low", "high"] * 9).unit is None


def test_two_columns_do_not_share_a_name_without_their_units():
    schema = Schema.infer({"tenure_years": WHOLE, "tenure_months": WHOLE * 12, "tenure": WHOLE})
    assert [f.title for f in schema] == ["tenure years", "tenure months", "tenure"]
    schema = Schema.infer({"term_years": WHOLE, "term_months": WHOLE * 12})
    assert [f.title for f in schema] == ["term years", "term months"]


def test_the_reason_stands_in_the_file():
    text = guess({"loan_term_months": WHOLE}).schema.to_yaml(annotated=True)
    assert "# in months, because of its name: 'months'.\n" in text
    assert "unit: months\n" in text
    settled = guess({"income": MONEY}).counted_in("income", "€")
    assert settled.schema["income"].unit == "€"
    assert settled.columns[0].unit is None
    assert "income: in €, as you said." in settled.schema.notes
    assert settled.counted_in("income", "").schema["income"].unit is None
