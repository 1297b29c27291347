"""The German credit data in their six published forms: decoded or coded, original or corrected."""

from collections.abc import Mapping

from holdtrue._types import JsonObject
from holdtrue.datasets._columns import UCI, Move, choice, flag, freed, is_one, number, only, rank, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.schema import Feature, Level, Schema

# Levels of the 13 categorical columns, in the order of their numeric codes, with the codes of `german.data`.
_LEVELS: dict[str, dict[str, str]] = {
    "status": {
        "no checking account": "A14",
        "< 0 DM": "A11",
        "0 <= ... < 200 DM": "A12",
        ">= 200 DM / salary for at least 1 year": "A13",
    },
    "credit_history": {
        "delay in paying off in the past": "A33",
        "critical account/other credits elsewhere": "A34",
        "no credits taken/all credits paid back duly": "A30",
        "existing credits paid back duly till now": "A32",
        "all credits at this bank paid back duly": "A31",
    },
    "purpose": {
        "others": "A410",
        "car (new)": "A40",
        "car (used)": "A41",
        "furniture/equipment": "A42",
        "radio/television": "A43",
        "domestic appliances": "A44",
        "repairs": "A45",
        "education": "A46",
        "vacation": "A47",
        "retraining": "A48",
        "business": "A49",
    },
    "savings": {
        "unknown/no savings account": "A65",
        "< 100 DM": "A61",
        "100 <= ... < 500 DM": "A62",
        "500 <= ... < 1000 DM": "A63",
        ">= 1000 DM": "A64",
    },
    "employment_duration": {
        "unemployed": "A71",
        "< 1 yr": "A72",
        "1 <= ... < 4 yrs": "A73",
        "4 <= ... < 7 yrs": "A74",
        ">= 7 yrs": "A75",
    },
    "personal_status_sex": {
        "male : divorced/separated": "A91",
        "female : divorced/separated/married": "A92",
        "male : married/widowed": "A94",
        "male : single": "A93",
    },
    "other_debtors": {"none": "A101", "co-applicant": "A102", "guarantor": "A103"},
    "property": {
        "unknown / no property": "A124",
        "car or other": "A123",
        "building soc. savings agr./life insurance": "A122",
        "real estate": "A121",
    },
    "other_installment_plans": {"bank": "A141", "stores": "A142", "none": "A143"},
    "housing": {"for free": "A153", "rent": "A151", "own": "A152"},
    "job": {
        "unemployed/unskilled - non-resident": "A171",
        "unskilled - resident": "A172",
        "skilled employee/official": "A173",
        "manager/self-empl./highly qualif. employee": "A174",
    },
    "telephone": {"no": "A191", "yes (under customer name)": "A192"},
    "foreign_worker": {"yes": "A201", "no": "A202"},
}
_COLUMNS = (
    "status",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment_duration",
    "installment_rate",
    "personal_status_sex",
    "other_debtors",
    "present_residence",
    "property",
    "age",
    "other_installment_plans",
    "housing",
    "number_credits",
    "job",
    "people_liable",
    "telephone",
    "foreign_worker",
)
# What may change, and how. A person can save, stay in a job, repay other plans, find a guarantor, ask for
# less or over another time. Past payments, the purpose, residence and the person themselves are given.
_UPWARD = ("status", "savings", "employment_duration")
_MOVES: dict[str, dict[str, tuple[str, ...]]] = {
    "other_debtors": {"guarantor": (), "co-applicant": ("guarantor",), "none": ("guarantor", "co-applicant")},
    "other_installment_plans": {"none": (), "bank": ("none",), "stores": ("none",)},
    "telephone": {"yes (under customer name)": ()},
}
_FIXED = ("credit_history", "purpose", "personal_status_sex", "property", "housing", "job", "foreign_worker")
_LABELS = {
    "status": "checking account",
    "personal_status_sex": "marital status and sex",
    "other_debtors": "further debtors or guarantors",
    "employment_duration": "time in the present job",
}
_CLASSES = {
    "installment_rate": (">= 35", "25 <= ... < 35", "20 <= ... < 25", "< 20"),
    "present_residence": ("< 1 yr", "1 <= ... < 4 yrs", "4 <= ... < 7 yrs", ">= 7 yrs"),
    "number_credits": ("1", "2-3", "4-5", ">= 6"),
    "people_liable": ("3 or more", "0 to 2"),
}


def german_schema(X: Raw, codes: Mapping[str, Mapping[str, Level]], corrected: bool) -> Schema:
    """Describe the 20 columns in the spelling of one file.

    Parameters
    ----------
    X : DataFrame
        The columns as the file has them.
    codes : mapping
        For each categorical column, how the file writes each level.
    corrected : bool
        Whether four columns are classes, as the corrected documentation says, rather than numbers.
    """
    return Schema([_feature(name, X, codes, corrected) for name in _COLUMNS]).resolve(X)


def _feature(name: str, X: Raw, codes: Mapping[str, Mapping[str, Level]], corrected: bool) -> Feature:
    if name in codes:
        written = {level: code for level, code in codes[name].items() if code in set(X[name])}
        levels = list(written)
        moves = _MOVES.get(name)
        if name in _UPWARD:
            moves = {level: tuple(levels[i + 1 :]) for i, level in enumerate(levels)}
        coded = None
        if moves is not None:
            coded = {written[a]: tuple(written[b] for b in to) for a, to in moves.items() if a in written}
        return choice(
            name,
            _LABELS.get(name),
            "fixed" if name in _FIXED else "free",
            levels=written.values(),
            transitions=coded,
        )
    if name == "duration":
        return whole(name, "repayment time", bounds=(4, 72), unit="months")
    if name == "amount":
        return whole(name, "credit amount", "decrease", bounds=(250, 18500), unit="DM", step=50)
    if name == "age":
        return whole(name, "age", "fixed", unit="years")
    label = name.replace("_", " ")
    if not corrected:
        # The original documentation calls these numbers, so they are: 7 numbers and 54 levels give 61 inputs.
        original: dict[str, Move] = {"installment_rate": "free", "number_credits": "decrease"}
        return whole(name, label, original.get(name, "fixed"))
    classes = _CLASSES[name] if X[name].dtype.kind not in "iu" else tuple(range(1, len(_CLASSES[name]) + 1))
    if name == "people_liable":
        return flag(name, label, "fixed", levels=classes)
    # Upwards means a smaller share of income.
    ordered: dict[str, Move] = {"installment_rate": "increase", "number_credits": "decrease"}
    return rank(name, classes, label, ordered.get(name, "fixed"))


def _numeric_codes(**other: Mapping[str, int]) -> dict[str, Mapping[str, int]]:
    """Codes 1, 2, ... in the order of the table above, unless said otherwise."""
    return {name: {v: i for i, v in enumerate(levels, 1)} for name, levels in _LEVELS.items()} | other


_SAME = {name: {level: level for level in levels} for name, levels in _LEVELS.items()}
_RAW = _LEVELS
_STATUS_SOUTH = (
    "male : divorced/separated",
    "female : non-single or male : single",
    "male : married/widowed",
    "female : single",
)
_HISTORY = {level: i for i, level in enumerate(_LEVELS["credit_history"])}
_PURPOSE = {level: i for i, level in enumerate(_LEVELS["purpose"])}
_ROAR = _numeric_codes(
    credit_history=_HISTORY,
    purpose=_PURPOSE,
    personal_status_sex=dict(zip(_LEVELS["personal_status_sex"], (1, 2, 3, 5), strict=True)),
)
_SOUTH = _SAME | {"personal_status_sex": {level: level for level in _STATUS_SOUTH}}
_SOUTH_CODES = _numeric_codes(
    credit_history=_HISTORY,
    purpose=_PURPOSE,
    personal_status_sex={level: i for i, level in enumerate(_STATUS_SOUTH, 1)},
)


def _facts(name: str, source: str) -> JsonObject:
    file = RawFile(name=f"{name}.csv.gz", rows=1000, width=21, columns=(*_COLUMNS, "credit_risk"))
    return {
        "rows": 1000,
        "features": 20,
        "target": "credit_risk",
        "protected": ("personal_status_sex", "age", "foreign_worker"),
        "favourable": 1,
        "source": source,
        "licence": UCI,
        "file": file,
    }


_UCI_144 = "UCI 144, Statlog German Credit (Hofmann 1994), doi 10.24432/C5NC77"
_UCI_573 = "UCI 573, South German Credit (Groemping 2019), doi 10.24432/C5QG88"


@register(
    "german_credit",
    **_facts("german_credit", _UCI_144),
    variants={
        "consistent-counterfactuals": "the same table, 61 inputs once one-hot, everything free to change.",
        "robustness-tradeoffs": "the same table, everything free to change.",
        "actionable-recourse": "duration, amount, age and personal status only; age may rise, the amount "
        "may move freely. The label is 1 for BAD credit (300 rows): the authors' code trains so, and the printed "
        "precision and recall fit no other reading.",
    },
)
def german_credit(raw: Raw, *, variant: str | None = None) -> Parts:
    """Credit applicants of a German bank, 1973 to 1975: good risk (1, favourable) or bad (0).

    Seven numbers and thirteen categorical columns with 54 levels, decoded as the original documentation has
    it. That documentation mixes up the meaning of several columns; `south_german_credit` is corrected.
    """
    X, y = raw[list(_COLUMNS)], is_one(raw["credit_risk"], "good")
    schema = german_schema(X, _SAME, corrected=False)
    if variant == "actionable-recourse":
        names = ["duration", "amount", "age", "personal_status_sex"]
        few = only(Schema([schema[n] for n in names]), {"age": "increase", "amount": "free"})
        return Parts(X=X[names], y=1 - y, schema=few.replace(amount={"step": None}))
    return Parts(X=X, y=y, schema=schema if variant is None else freed(schema))


@register("german_credit_raw", **_facts("german_credit_raw", _UCI_144))
def german_credit_raw(raw: Raw) -> Parts:
    """`german_credit` with the original codes A11 to A202: good risk (1, favourable) or bad (0)."""
    X = raw[list(_COLUMNS)]
    return Parts(X=X, y=is_one(raw["credit_risk"], 1), schema=german_schema(X, _RAW, corrected=False))


@register("german_credit_roar_codes", **_facts("german_credit_roar_codes", f"{_UCI_144}; recoded by ROAR"))
def german_credit_roar_codes(raw: Raw) -> Parts:
    """`german_credit` in numeric codes, as published with ROAR: good risk (1, favourable) or bad (0)."""
    X = raw[list(_COLUMNS)]
    return Parts(X=X, y=is_one(raw["credit_risk"], 1), schema=german_schema(X, _ROAR, corrected=False))


@register("south_german_credit", **_facts("south_german_credit", _UCI_573))
def south_german_credit(raw: Raw) -> Parts:
    """Return the German credit data with corrected meanings: good risk (1, favourable) or bad (0).

    The same 1,000 people as `german_credit` in another order. Instalment rate, residence, number of credits
    and people liable are ordered classes here, not numbers.
    """
    X = raw[list(_COLUMNS)]
    return Parts(X=X, y=is_one(raw["credit_risk"], "good"), schema=german_schema(X, _SOUTH, corrected=True))


@register("south_german_credit_codes", **_facts("south_german_credit_codes", _UCI_573))
def south_german_credit_codes(raw: Raw) -> Parts:
    """`south_german_credit` in its published numeric codes: good risk (1, favourable) or bad (0)."""
    X = raw[list(_COLUMNS)]
    return Parts(X=X, y=is_one(raw["credit_risk"], 1), schema=german_schema(X, _SOUTH_CODES, corrected=True))


_ROCOURSENET = Schema(
    [
        whole("Duration", "repayment time", bounds=(4, 72), unit="months"),
        whole("Credit amount", "credit amount", "decrease", bounds=(250, 18500), unit="DM"),
        whole("Installment rate", "instalment rate class", bounds=(1, 4)),
        whole("Age", "age", "fixed", unit="years"),
        whole("Existing credits", "existing credits", "decrease", bounds=(1, 4)),
        whole("Number people", "people liable", "fixed"),
        choice("Present residence", "present residence class", "fixed", levels=range(1, 5)),
        choice("Status", "checking account", levels=range(1, 5)),
        choice("History", "credit history", "fixed", levels=range(5)),
    ]
)


@register(
    "rocoursenet_german",
    rows=2000,
    features=9,
    target="GoodCustomer (label)",
    favourable=1,
    protected=("Age",),
    source="RoCourseNet repository (BirkhoffG/RoCourseNet), from UCI 144 and UCI 573",
    licence="Apache-2.0 (repository); data CC BY 4.0, as the UCI repository states",
    file=RawFile(
        name="rocoursenet_german.csv.gz",
        rows=2000,
        width=11,
        columns=("version", *_ROCOURSENET.names, "GoodCustomer (label)"),
    ),
    variants={"rocoursenet": "19 inputs once one-hot: six continuous, three categorical, all free."},
)
def rocoursenet_german(raw: Raw, *, variant: str | None = None) -> Parts:
    """Original and corrected German credit, nine columns: good risk (1, favourable) or bad (0).

    The two versions lie one below the other; `groups` holds `version`, "original" or "corrected", so the
    correction can serve as a data shift of 2 x 1,000 rows.
    """
    X = raw[_ROCOURSENET.names].astype("int64")
    schema = _ROCOURSENET.resolve(X)
    if variant is not None:
        free = freed(schema)
        schema = Schema([f if f.has_levels else number(f.name, f.label, bounds=f.bounds) for f in free])
    return Parts(
        X=X, y=raw["GoodCustomer (label)"].to_numpy("int64"), schema=schema, groups=raw[["version"]].copy()
    )
