"""Income of adults, and grades of pupils."""

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.datasets._columns import UCI, Move, choice, fixed, flag, freed, is_one, number, only, rank, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Implication, Schema

_EDUCATION = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college"),
    *("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)
_WITH_SPOUSE = ("Married-civ-spouse", "Married-AF-spouse")
_ONCE_MARRIED = (*_WITH_SPOUSE, "Married-spouse-absent", "Separated", "Divorced", "Widowed")
_WORKCLASS = (
    *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
    *("Without-pay", "Never-worked", "?"),
)
_AT_WORK = _WORKCLASS[:-2]
_ADULT_RAW = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)

ADULT = Schema(
    [
        whole("age", "age", "fixed", unit="years"),
        # Nobody becomes someone of unknown employment, or someone who never worked.
        choice("workclass", "employer", levels=_WORKCLASS, transitions=dict.fromkeys(_WORKCLASS, _AT_WORK)),
        rank("education", _EDUCATION, "education", "increase", cost_weight=2),
        # Fixed, since a lender may not go by it; whoever frees it finds that no one returns to never-married.
        choice(
            "marital-status",
            "marital status",
            "fixed",
            levels=("Never-married", *_ONCE_MARRIED),
            transitions={"Never-married": _WITH_SPOUSE, **dict.fromkeys(_ONCE_MARRIED, _ONCE_MARRIED)},
        ),
        choice("occupation", "occupation", cost_weight=2),
        choice("relationship", "place in the family", "fixed"),
        choice("race", "race", "fixed"),
        flag("sex", "sex", "fixed", levels=("Female", "Male")),
        whole("capital-gain", "capital gains", "increase", unit="$"),
        whole("capital-loss", "capital losses", unit="$"),
        whole("hours-per-week", "working hours a week", bounds=(1, 99)),
        choice("native-country", "native country", "fixed"),
    ],
    implications=[
        Implication(
            when={"workclass": ("?", "Never-worked")},
            then={"occupation": ("?",)},
            name="no employer, no occupation",
        ),
        Implication(
            when={"occupation": ("?",)},
            then={"workclass": ("?", "Never-worked")},
            name="an employer comes with an occupation",
        ),
        Implication(
            when={"relationship": ("Husband", "Wife")},
            then={"marital-status": _WITH_SPOUSE},
            name="a husband or wife is married",
        ),
    ],
)


@register(
    "adult",
    rows=48842,
    features=12,
    target="income",
    favourable=1,
    protected=(
        "age",
        "marital-status",
        "relationship",
        "race",
        "sex",
        "native-country",
        "isWhite",
        "isMale",
        "marital-status-Married",
        "native-country-United-States",
    ),
    source="UCI 2, Adult (Becker and Kohavi 1996), doi 10.24432/C5XW20",
    licence=UCI,
    file=RawFile(name="adult.csv.gz", rows=48842, width=16, columns=(*_ADULT_RAW, "income", "split")),
    variants={
        "actionable-recourse": "the 32,561 rows of adult.data and nine columns; education may rise, hours may "
        "move either way (the appendix and the code; the main text has them rise only), the rest is fixed.",
        "counterfactual-training": "the 32,561 rows of adult.data, all 14 columns, everything free to change, "
        "or age fixed with protect=True.",
        "robustness-tradeoffs": "all 48,842 rows and 14 columns, everything free to change.",
    },
)
def adult(raw: Raw, *, variant: str | None = None, protect: bool = False) -> Parts:
    """Adults in the US census of 1994: income above 50,000 dollars (1, favourable) or not (0).

    "?" is a level of its own. Education is ordered; its number and the census weight are left out. `groups`
    holds `split`, the published "train" and "test" parts.
    """
    y, groups = is_one(raw["income"], ">50K"), raw[["split"]]
    if variant in ("actionable-recourse", "counterfactual-training"):
        rows = (raw["split"] == "train").to_numpy()
        raw, y, groups = raw[rows], y[rows], groups[rows]
    if variant is None:
        X = raw[ADULT.names]
        return Parts(X=X, y=y, schema=ADULT.resolve(X), groups=groups)
    if variant == "actionable-recourse":
        X, schema = _adult_of_ross(raw)
    else:
        X = raw[list(_ADULT_RAW)]
        schema = freed(_plain_adult(X), {"age": "fixed"} if protect else {})
    return Parts(X=X, y=y, schema=schema.resolve(X), groups=groups)


def _plain_adult(X: Raw) -> Schema:
    return Schema([whole(n) if X[n].dtype.kind == "i" else choice(n) for n in X.columns])


def _adult_of_ross(raw: Raw) -> tuple[Raw, Schema]:
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    flags = {
        "isWhite": raw["race"] == "White",
        "native-country-United-States": raw["native-country"] == "United-States",
        "marital-status-Married": raw["marital-status"].str.startswith("Married"),
        "isMale": raw["sex"] == "Male",
    }
    X = raw[numbers].assign(**{name: values.astype("int64") for name, values in flags.items()})
    schema = Schema([*[whole(n) for n in numbers], *[flag(n) for n in flags]])
    return X, only(schema, {"education-num": "increase", "hours-per-week": "free"})


def _yes(name: str, label: str, move: Move = "increase") -> Feature:
    return flag(name, label, move, levels=("no", "yes"))


def _scale(name: str, label: str, move: Move = "fixed", low: int = 1, high: int = 5) -> Feature:
    return rank(name, range(low, high + 1), label, move)


_JOBS = ("at_home", "health", "other", "services", "teacher")
# A pupil can study more, miss fewer lessons, drink and go out less, take lessons, aim for higher education.
# Grades of the first two terms, past failures and the family are given.
STUDENT = Schema(
    [
        _scale("studytime", "weekly study time (1 to 4)", "increase", high=4),
        whole("absences", "absences", "decrease", bounds=(0, 93)),
        _yes("schoolsup", "extra support at school"),
        _yes("famsup", "support by the family"),
        _yes("paid", "paid extra lessons"),
        _yes("activities", "activities outside lessons", "free"),
        _yes("higher", "aiming for higher education"),
        _yes("internet", "internet at home"),
        _scale("goout", "going out with friends (1 to 5)", "decrease"),
        _scale("Dalc", "alcohol on weekdays (1 to 5)", "decrease"),
        _scale("Walc", "alcohol at weekends (1 to 5)", "decrease"),
        _scale("freetime", "free time (1 to 5)", "free"),
        *fixed(
            [
                whole("G1", "grade of the first term", bounds=(0, 20)),
                whole("G2", "grade of the second term", bounds=(0, 20)),
                whole("failures", "past failures"),
                flag("sex", "sex", levels=("F", "M")),
                whole("age", "age", unit="years"),
                flag("address", "address (rural or urban)", levels=("R", "U")),
                flag("famsize", "family size", levels=("LE3", "GT3")),
                flag("Pstatus", "parents apart or together", levels=("A", "T")),
                _scale("Medu", "mother's education (0 to 4)", low=0, high=4),
                _scale("Fedu", "father's education (0 to 4)", low=0, high=4),
                choice("Mjob", "mother's job", levels=_JOBS),
                choice("Fjob", "father's job", levels=_JOBS),
                choice("reason", "reason for this school"),
                choice("guardian", "guardian"),
                _scale("traveltime", "way to school (1 to 4)", high=4),
                _yes("nursery", "attended nursery school"),
                _yes("romantic", "in a relationship"),
                _scale("famrel", "family relations (1 to 5)"),
                _scale("health", "health (1 to 5)"),
            ]
        ),
    ]
)


def _student(subject: str, rows: int) -> JsonObject:
    columns = ("school", *STUDENT.names, "G3")
    return {
        "rows": rows,
        "features": 31,
        "target": "G3",
        "protected": ("sex", "age", "famsize", "Pstatus", "romantic", "health"),
        "favourable": 1,
        "source": "UCI 320, Student Performance (Cortez and Silva 2008), doi 10.24432/C5TG7T",
        "licence": UCI,
        "file": RawFile(name=f"student_{subject}.csv.gz", rows=rows, width=33, columns=columns),
    }


@register("student_por", **_student("por", 649))
@register("student_mat", **_student("mat", 395))
def student(raw: Raw, *, pass_mark: int = 10) -> Parts:
    """Pupils of two Portuguese schools: final grade of at least `pass_mark` of 20 (1, favourable) or below (0).

    ``pass_mark=10`` is a pass; RoCourseNet's file has its 1 from 14 upwards. `student_por` is Portuguese,
    `student_mat` mathematics. `groups` holds `school` and the grade `G3`.
    """
    if not isinstance(pass_mark, (int, np.integer)) or not 1 <= pass_mark <= 19:
        raise DataError(f"datasets.load: `pass_mark` must be a whole number from 1 to 19; got {pass_mark!r}.")
    X, y = raw[STUDENT.names], (raw["G3"] >= pass_mark).to_numpy("int64")
    return Parts(X=X, y=y, schema=STUDENT.resolve(X), groups=raw[["school", "G3"]])


_GRADES = ("F", "D", "C", "B", "A")
_ROCOURSENET = Schema(
    [
        whole("failures", "past failures", "fixed"),
        whole("age", "age", "fixed", unit="years"),
        rank("G2", _GRADES, "grade of the second term", "fixed"),
        rank("G1", _GRADES, "grade of the first term", "fixed"),
        *[STUDENT[n] for n in ("higher", "goout", "Mjob", "Fjob", "health", "freetime", "absences")],
        *[STUDENT[n] for n in ("Walc", "famrel", "Medu", "Fedu")],
    ]
)


@register(
    "rocoursenet_student",
    rows=649,
    features=15,
    target="G3",
    favourable=1,
    protected=("age", "health"),
    source="RoCourseNet repository (BirkhoffG/RoCourseNet), from UCI 320",
    licence="Apache-2.0 (repository); data CC BY 4.0, as the UCI repository states",
    file=RawFile(
        name="rocoursenet_student.csv.gz", rows=649, width=17, columns=("school", *_ROCOURSENET.names, "G3")
    ),
    variants={
        "rocoursenet": "83 inputs once one-hot: failures and age continuous, all else categorical and free.",
    },
)
def rocoursenet_student(raw: Raw, *, variant: str | None = None) -> Parts:
    """Pupils of two schools as RoCourseNet has them: a good final grade (1, favourable) or not (0).

    The paper says "pass", but the file's 194 ones are as many as there are grades from 14 upwards; passes
    (from 10 upwards) would be 549. `groups` holds `school`: GP (423 rows) and MS (226).
    """
    X, y = raw[_ROCOURSENET.names], raw["G3"].to_numpy("int64")
    schema = _ROCOURSENET
    if variant is not None:
        continuous = ("failures", "age")
        schema = Schema([number(f.name) if f.name in continuous else choice(f.name) for f in schema])
    return Parts(X=X, y=y, schema=schema.resolve(X), groups=raw[["school"]])
