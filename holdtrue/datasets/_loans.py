"""Loans to small businesses, guaranteed by the US Small Business Administration."""

import numpy as np

from holdtrue.datasets._columns import choice, flag, freed, number, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.schema import LinearConstraint, Schema

_AMOUNTS = ("DisbursementGross", "GrAppv", "SBA_Appv")
_WITHIN = LinearConstraint(
    coefficients={"SBA_Appv": 1, "GrAppv": -1}, bound=0, name="the guarantee is at most the loan"
)
_AMOUNT_FEATURES = [
    whole("DisbursementGross", "amount paid out", "decrease", unit="$", bounds=(1000, 11500000), step=500),
    whole("GrAppv", "loan amount approved by the bank", "decrease", unit="$", bounds=(1000, 5500000), step=500),
    whole("SBA_Appv", "amount guaranteed", "decrease", unit="$", bounds=(500, 5500000), step=500),
]
_LOWDOC = ("0", "A", "C", "N", "R", "S", "Y")

# A business can ask for less or over another term, and plan more jobs. Its place, trade, age and the year
# are given.
SBA = Schema(
    [
        choice("State", "state", "fixed"),
        whole("Term", "term", unit="years", bounds=(1, 30)),
        whole("NoEmp", "employees", "increase", bounds=(0, 9999), cost_weight=2),
        choice("NewExist", "existing (1) or new (2) business", "fixed", levels=(0, 1, 2)),
        whole("CreateJob", "jobs created", "increase", bounds=(0, 5700)),
        whole("RetainedJob", "jobs retained", "increase", bounds=(0, 9500)),
        choice("UrbanRural", "urban (1) or rural (2)", "fixed", levels=(0, 1, 2)),
        choice("LowDoc", "low-documentation programme", "fixed", levels=_LOWDOC),
        *_AMOUNT_FEATURES,
        choice("Sector_Points", "sector", "fixed", levels=range(6)),
    ],
    [_WITHIN],
)


@register(
    "sba_loans",
    rows=514850,
    features=12,
    target="Approve",
    favourable=1,
    source="SBA loans, Li, Mickel and Taylor (2018), as prepared in the RoCourseNet repository, 1988 to 2012",
    licence="US government data; repository Apache-2.0",
    file=RawFile(name="sba_loans.parquet", rows=514850, width=14, columns=("Year", *SBA.names, "Approve")),
    variants={
        "rocoursenet": "1994 to 2009 (449,152 rows), amounts as logarithms, the term as a category (110 inputs "
        "once one-hot), everything free to change. The paper calls default the label 1; its file, and so this "
        "variant, has 1 for loans that were repaid.",
    },
)
def sba_loans(raw: Raw, *, variant: str | None = None) -> Parts:
    """Small-business loans: paid in full (1, favourable) or charged off (0).

    `groups` holds `Year`, the fiscal year of approval. Repaid loans were thinned by the authors, so default
    rates are too high, while their change over time remains. The term is in whole years.
    """
    y, groups = raw["Approve"].to_numpy("int64"), raw[["Year"]].astype("int64")
    X = raw[SBA.names]
    if variant is not None:
        rows = groups["Year"].between(1994, 2009).to_numpy()
        X, y, groups = X[rows], y[rows], groups[rows]
        X = X.assign(**{name: np.log(X[name]) for name in _AMOUNTS})
        categorical = ("State", "Term", "UrbanRural", "LowDoc", "Sector_Points")
        features = [choice(f.name, f.label) if f.name in categorical else number(f.name, f.label) for f in SBA]
        return Parts(X=X, y=y, schema=freed(Schema(features)).resolve(X), groups=groups)
    return Parts(X=X, y=y, schema=SBA.resolve(X), groups=groups)


CALIFORNIA = Schema(
    [
        whole("Term", "term", unit="months", bounds=(1, 306)),
        whole("NoEmp", "employees", "increase", bounds=(0, 650), cost_weight=2),
        flag("New", "new business", "fixed"),
        whole("CreateJob", "jobs created", "increase", bounds=(0, 130)),
        whole("RetainedJob", "jobs retained", "increase", bounds=(0, 535)),
        choice("UrbanRural", "urban (1) or rural (2)", "fixed", levels=(0, 1, 2)),
        choice("RevLineCr", "revolving line of credit", "fixed", missing="level"),
        choice("LowDoc", "low-documentation programme", "fixed", missing="level"),
        *_AMOUNT_FEATURES,
    ],
    [_WITHIN],
)


@register(
    "sba_california",
    rows=2102,
    features=11,
    target="Default",
    favourable=1,
    source="SBAcase of Li, Mickel and Taylor (2018), real estate and rental businesses in California",
    licence="as the supplement of the article (US government data)",
    file=RawFile(
        name="sba_case_california.csv.gz",
        rows=2102,
        width=30,
        columns=("Selected", "ApprovalFY", "Recession", *CALIFORNIA.names, "Default"),
    ),
)
def sba_california(raw: Raw) -> Parts:
    """Small-business loans in California: paid in full (1, favourable) or defaulted (0).

    `groups` holds `ApprovalFY`, `Selected` (1 for the article's training rows) and `Recession`. Left out:
    what is known only after the loan went bad, and columns that follow from others.
    """
    X = raw[CALIFORNIA.names]
    groups = raw[["ApprovalFY", "Selected", "Recession"]]
    return Parts(X=X, y=1 - raw["Default"].to_numpy("int64"), schema=CALIFORNIA.resolve(X), groups=groups)
