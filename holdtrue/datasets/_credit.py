"""Consumer credit: home-equity lines, credit cards in Taiwan, Give Me Some Credit."""

import numpy as np

from holdtrue.datasets._columns import UCI, Move, balanced, choice, flag, freed, is_one, number, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.schema import Feature, LinearConstraint, Schema


def _bureau(name: str, label: str, move: Move = "fixed", **rest: object) -> Feature:
    # Bureau counts and percentages are whole numbers; -7, -8 and -9 stand for three kinds of "nothing here".
    return whole(name, label, move, missing="median", **rest)


# The score of the bureau, ages of accounts and past delinquencies are given; what a person can do is draw
# less on cards, pay loans down, and ask for less new credit.
HELOC = Schema(
    [
        _bureau("ExternalRiskEstimate", "external risk estimate"),
        _bureau("MSinceOldestTradeOpen", "time since the oldest account", unit="months"),
        _bureau("MSinceMostRecentTradeOpen", "time since the newest account", "increase", unit="months"),
        _bureau("AverageMInFile", "average age of accounts", unit="months"),
        _bureau("NumSatisfactoryTrades", "satisfactory accounts", "increase"),
        _bureau("NumTrades60Ever2DerogPubRec", "accounts ever 60 days late"),
        _bureau("NumTrades90Ever2DerogPubRec", "accounts ever 90 days late"),
        _bureau("PercentTradesNeverDelq", "accounts never late", unit="%"),
        _bureau("MSinceMostRecentDelq", "time since the last late payment", "increase", unit="months"),
        choice("MaxDelq2PublicRecLast12M", "worst payment status, last 12 months", "fixed", missing="level"),
        choice("MaxDelqEver", "worst payment status ever", "fixed", missing="level"),
        _bureau("NumTotalTrades", "accounts"),
        _bureau("NumTradesOpeninLast12M", "accounts opened in the last 12 months", "decrease"),
        _bureau("PercentInstallTrades", "instalment accounts", unit="%"),
        _bureau("MSinceMostRecentInqexcl7days", "time since the last inquiry", "increase", unit="months"),
        _bureau("NumInqLast6M", "inquiries in the last 6 months", "decrease"),
        _bureau("NumInqLast6Mexcl7days", "inquiries in the last 6 months without the last week", "decrease"),
        _bureau("NetFractionRevolvingBurden", "revolving balance to limit", "decrease", unit="%"),
        _bureau("NetFractionInstallBurden", "instalment balance to loan", "decrease", unit="%"),
        _bureau("NumRevolvingTradesWBalance", "revolving accounts with a balance", "decrease"),
        _bureau("NumInstallTradesWBalance", "instalment accounts with a balance", "decrease"),
        _bureau("NumBank2NatlTradesWHighUtilization", "cards near their limit", "decrease"),
        _bureau("PercentTradesWBalance", "accounts with a balance", "decrease", unit="%"),
    ],
    [
        # Holds in every row with values.
        LinearConstraint(
            coefficients={"NumInqLast6Mexcl7days": 1, "NumInqLast6M": -1},
            bound=0,
            name="inquiries without the last week are among all inquiries",
        )
    ],
)


@register(
    "heloc",
    rows=10459,
    features=23,
    target="RiskPerformance",
    favourable=1,
    source="FICO Explainable Machine Learning Challenge (2018), heloc_dataset_v1",
    licence="FICO challenge terms (research use)",
    file=RawFile(name="heloc.csv.gz", rows=10459, width=24, columns=("RiskPerformance", *HELOC.names)),
    variants={
        "consistent-counterfactuals": "special codes kept as numbers, the two payment states categorical (40 "
        "inputs once one-hot if states 0 to 9 of the last 12 months all count), everything free to change."
    },
)
def heloc(raw: Raw, *, variant: str | None = None) -> Parts:
    """Home-equity credit lines: repaid as agreed (1, favourable) or 90 days late within two years (0).

    The codes -9 (no bureau record, 588 people), -8 (no usable account) and -7 (never happened) are missing
    values; the schema imputes them and keeps an indicator.
    """
    X, y = raw[HELOC.names], is_one(raw["RiskPerformance"], "Good")
    if variant is not None:
        states = {"MaxDelq2PublicRecLast12M": (-9, *range(10)), "MaxDelqEver": (-9, *range(2, 9))}
        coded = [
            choice(f.name, f.label, levels=states[f.name]) if f.name in states else number(f.name, f.label)
            for f in HELOC
        ]
        return Parts(X=X, y=y, schema=Schema(coded).resolve(X))
    X = X.where(X >= 0).astype("float64")
    return Parts(X=X, y=y, schema=HELOC.resolve(X))


_MONTHS = ("September", "August", "July", "June", "May", "April")
_PAY = dict(zip([f"PAY_{i}" for i in (0, 2, 3, 4, 5, 6)], _MONTHS, strict=True))  # UCI's names
TAIWAN = Schema(
    [
        whole("LIMIT_BAL", "credit limit", "fixed", unit="NT$"),  # the bank sets it
        flag("SEX", "sex (1 male, 2 female)", "fixed", levels=(1, 2)),
        choice("EDUCATION", "education", "fixed", levels=range(7)),
        choice("MARRIAGE", "marital status", "fixed", levels=range(4)),
        whole("AGE", "age", "fixed", unit="years"),
        *[
            whole(n, f"payment delay in {m}", "decrease", bounds=(-2, 8))
            for n, m in zip(_PAY, _MONTHS, strict=True)
        ],
        *[whole(f"BILL_AMT{i}", f"bill in {m}", "decrease", unit="NT$") for i, m in enumerate(_MONTHS, 1)],
        *[whole(f"PAY_AMT{i}", f"payment in {m}", "increase", unit="NT$") for i, m in enumerate(_MONTHS, 1)],
    ]
)
_TAIWAN_RAW = tuple(f"X{i}" for i in range(1, 24))


@register(
    "taiwan_credit",
    rows=30000,
    features=23,
    target="default payment next month",
    favourable=1,
    protected=("SEX", "MARRIAGE", "AGE"),
    source="UCI 350, Default of Credit Card Clients (Yeh and Lien 2009), doi 10.24432/C55S3H",
    licence=UCI,
    file=RawFile(
        name="default_credit_card.csv.gz",
        rows=30000,
        width=25,
        columns=("ID", *_TAIWAN_RAW, "default payment next month"),
    ),
    variants={
        "consistent-counterfactuals": "the same table, 32 inputs once one-hot, everything free to change.",
        "counterfactual-training": "13,272 rows, both classes equally often (drawn by `random_state`); sex "
        "one-hot too; everything free, or age fixed with protect=True.",
    },
)
def taiwan_credit(
    raw: Raw, *, variant: str | None = None, random_state: int | None = 0, protect: bool = False
) -> Parts:
    """Credit-card clients in Taiwan, 2005: paid the next month (1, favourable) or defaulted (0).

    Columns carry the names of the UCI page; `PAY_0` to `PAY_6` are months of delay from September back to
    April (-2 no use, -1 paid in full, 0 minimum paid). Education: 1 graduate school, 2 university, 3 high
    school, 4 other, 0, 5 and 6 unknown; marriage: 1 married, 2 single, 3 other, 0 unknown.
    """
    X = raw[list(_TAIWAN_RAW)].set_axis(TAIWAN.names, axis=1).astype("int64")
    y = 1 - raw["default payment next month"].to_numpy("int64")
    schema = TAIWAN.resolve(X)
    if variant is None:
        return Parts(X=X, y=y, schema=schema)
    schema = freed(schema, {"AGE": "fixed"} if protect else {})
    if variant == "consistent-counterfactuals":
        return Parts(X=X, y=y, schema=schema)
    sexed = [choice("SEX", f.label, levels=(1, 2)) if f.name == "SEX" else f for f in schema]
    rows = balanced(y, random_state)
    return Parts(X=X.iloc[rows], y=y[rows], schema=Schema(sexed))


_LATE = {
    "NumberOfTime30-59DaysPastDueNotWorse": "times 30 to 59 days late",
    "NumberOfTime60-89DaysPastDueNotWorse": "times 60 to 89 days late",
    "NumberOfTimes90DaysLate": "times 90 days late",
}
GMSC = Schema(
    [
        number("RevolvingUtilizationOfUnsecuredLines", "revolving balance to limit", "decrease", bounds=(0, 2)),
        whole("age", "age", "fixed", unit="years"),
        # Two years on, a late payment no longer counts; so these may fall.
        whole("NumberOfTime30-59DaysPastDueNotWorse", move="decrease", bounds=(0, 13), missing="median"),
        number("DebtRatio", "debt ratio", "decrease", bounds=(0, 5)),
        whole("MonthlyIncome", "monthly income", "increase", unit="$", bounds=(0, 50000), missing="median"),
        whole("NumberOfOpenCreditLinesAndLoans", "open loans and credit lines", bounds=(0, 58)),
        whole("NumberOfTimes90DaysLate", move="decrease", bounds=(0, 17), missing="median"),
        whole("NumberRealEstateLoansOrLines", "real-estate loans", "decrease", bounds=(0, 54)),
        whole("NumberOfTime60-89DaysPastDueNotWorse", move="decrease", bounds=(0, 11), missing="median"),
        whole("NumberOfDependents", "dependents", "fixed", missing="median"),
    ],
    [
        LinearConstraint(
            coefficients={"NumberRealEstateLoansOrLines": 1, "NumberOfOpenCreditLinesAndLoans": -1},
            bound=0,
            name="real-estate loans are among the open loans",
        )
    ],
).replace(**{name: {"label": label} for name, label in _LATE.items()})


@register(
    "give_me_some_credit",
    rows=150000,
    features=10,
    target="SeriousDlqin2yrs",
    favourable=1,
    protected=("age",),
    source="Kaggle competition Give Me Some Credit (2011), cs-training.csv",
    licence="Kaggle competition rules (no open licence)",
    file=RawFile(
        name="give_me_some_credit.csv.gz", rows=150000, width=11, columns=("SeriousDlqin2yrs", *GMSC.names)
    ),
    variants={
        "counterfactual-training": "complete rows only, both classes equally often (16,714 rows, drawn by "
        "`random_state`); everything free, or age fixed with protect=True.",
    },
)
def give_me_some_credit(
    raw: Raw, *, variant: str | None = None, random_state: int | None = 0, protect: bool = False
) -> Parts:
    """Borrowers: no serious delinquency within two years (1, favourable) or 90 days late or worse (0).

    Income (29,731) and dependents (3,924) are missing at times; the codes 96 and 98 in the counts of late
    payments (269 people) are taken as missing too. `DebtRatio` is in dollars where income is missing.
    """
    X, y = raw[GMSC.names], 1 - raw["SeriousDlqin2yrs"].to_numpy("int64")
    if variant is not None:
        whole_rows = np.flatnonzero(X.notna().all(axis=1))
        rows = whole_rows[balanced(y[whole_rows], random_state)]
        X = X.iloc[rows]
        plain = Schema([f.replace(bounds=None, missing=None) for f in GMSC])
        schema = freed(plain, {"age": "fixed"} if protect else {})
        return Parts(X=X, y=y[rows], schema=schema.resolve(X))
    late = list(_LATE)
    X = X.assign(**{name: X[name].where(X[name] < 96) for name in late})
    return Parts(X=X, y=y, schema=GMSC.resolve(X))
