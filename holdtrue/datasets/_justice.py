"""Recidivism: COMPAS in Florida, prison releases in North Carolina."""

import numpy as np
import pandas as pd

from holdtrue._types import JsonObject
from holdtrue.datasets._columns import choice, fixed, flag, freed, only, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.errors import DataError
from holdtrue.schema import Schema

# A record cannot be undone, but it can be sealed or expunged; nothing else here is in a defendant's hands.
COMPAS = Schema(
    [
        whole("priors_count", "prior convictions on record", "decrease", bounds=(0, 38)),
        whole("juv_fel_count", "juvenile felonies on record", "decrease", bounds=(0, 20)),
        whole("juv_misd_count", "juvenile misdemeanours on record", "decrease", bounds=(0, 13)),
        whole("juv_other_count", "other juvenile offences on record", "decrease", bounds=(0, 17)),
        *fixed(
            [
                whole("length_of_stay", "days in jail"),
                whole("days_b_screening_arrest", "days from arrest to screening"),
                flag("c_charge_degree", "degree of the charge", levels=("M", "F")),
                whole("age", "age", unit="years"),
                flag("sex", "sex", levels=("Female", "Male")),
                choice("race", "race"),
            ]
        ),
    ]
)
_COMPAS_RAW = (
    *("age", "sex", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
    *("days_b_screening_arrest", "c_charge_degree", "c_jail_in", "c_jail_out", "is_recid", "score_text"),
    *("decile_score", "two_year_recid"),
)


@register(
    "compas",
    rows=6172,
    features=10,
    target="two_year_recid",
    favourable=1,
    protected=("age", "sex", "race", "isMale", "isCaucasian"),
    source="ProPublica (2016), compas-scores-two-years.csv without names, birth dates and case numbers",
    licence="none stated",
    file=RawFile(name="compas_two_years.csv.gz", rows=7214, width=46, columns=_COMPAS_RAW),
    variants={
        "actionable-recourse": "seven columns, the number of priors free to change, the rest fixed.",
    },
)
def compas(raw: Raw, *, variant: str | None = None, label: str = "recidivism") -> Parts:
    """Defendants in Broward County: not charged again within two years (1, favourable) or charged (0).

    ProPublica's own filter: 6,172 of 7,214 people, screened within 30 days of the arrest. With
    ``label="score"`` the label is 1 for a "Low" COMPAS score, which is how the actionable-recourse paper
    describes it, though its code takes recidivism. `groups` holds the scores.
    """
    if label not in ("recidivism", "score"):
        raise DataError(f"datasets.load: `label` must be 'recidivism' or 'score'; got {label!r}.")
    kept = raw[
        (raw["days_b_screening_arrest"].abs() <= 30)
        & (raw["is_recid"] != -1)
        & (raw["c_charge_degree"] != "O")
        & (raw["score_text"] != "N/A")
    ]
    stay = pd.to_datetime(kept["c_jail_out"]) - pd.to_datetime(kept["c_jail_in"])
    frame = kept.assign(
        length_of_stay=stay.dt.days, days_b_screening_arrest=kept["days_b_screening_arrest"].astype("int64")
    )
    good = frame["two_year_recid"] == 0 if label == "recidivism" else frame["score_text"] == "Low"
    X, schema = frame[COMPAS.names], COMPAS
    if variant is not None:
        flags = {
            "isMale": frame["sex"] == "Male",
            "isCaucasian": frame["race"] == "Caucasian",
            "c_charge_degree_F": frame["c_charge_degree"] == "F",
        }
        numbers = ["age", "priors_count", "length_of_stay", "days_b_screening_arrest"]
        X = frame[numbers].assign(**{name: values.astype("int64") for name, values in flags.items()})
        schema = only(Schema([*[COMPAS[n] for n in numbers], *[flag(n) for n in flags]]), {"priors_count": "free"})
    return Parts(
        X=X,
        y=good.to_numpy("int64"),
        schema=schema.resolve(X),
        groups=frame[["score_text", "decile_score"]],
        target="score_text" if label == "score" else None,
    )


# Before release a person can still learn, join the work programme and keep the rules.
BAIL = Schema(
    [
        flag("WHITE", "white", "fixed"),
        flag("ALCHY", "alcohol problem on record", "fixed", missing="most_frequent"),
        flag("JUNKY", "drug use on record", "fixed", missing="most_frequent"),
        flag("SUPER", "supervised release", "fixed"),
        flag("MARRIED", "married", "fixed"),
        flag("FELON", "felony", "fixed"),
        flag("WORKREL", "taking part in work release", "increase"),
        flag("PROPTY", "crime against property", "fixed"),
        flag("PERSON", "crime against a person", "fixed"),
        flag("MALE", "male", "fixed"),
        whole("PRIORS", "prior imprisonments", "fixed", missing="median"),
        whole("SCHOOL", "years of schooling", "increase", bounds=(1, 19), missing="median"),
        whole("RULE", "prison rule violations", "decrease", bounds=(0, 77)),
        whole("AGE", "age", "fixed", unit="months"),
        whole("TSERVD", "time served", "fixed", unit="months"),
        whole("FOLLOW", "length of the follow-up", "fixed", unit="months"),
    ]
)


def _bail(file: str, rows: int, source: str) -> JsonObject:
    columns = ("cohort", *BAIL.names, "RECID", "TIME", "FILE")
    return {
        "rows": rows,
        "features": 16,
        "target": "RECID",
        "protected": ("WHITE", "MARRIED", "MALE", "AGE"),
        "favourable": 1,
        "source": source,
        "licence": "ICPSR terms of use",
        "file": RawFile(name=f"{file}.csv.gz", rows=rows, width=20, columns=columns),
        "variants": {
            "actionable-recourse": "complete rows only; schooling may rise, rule violations may move either way, "
            "the rest is fixed.",
            "robustness-tradeoffs": "codes for missing values kept as numbers, everything free to change. The "
            "paper calls these people COMPAS.",
        },
    }


@register(
    "bail",
    **_bail("bail_nc_recidivism", 18876, "Schmidt and Witte (1988), ICPSR 8987, releases of 1978 and 1980"),
)
@register(
    "bail_ross",
    **_bail(
        "bail_nc_recidivism_ross",
        31000,
        "ICPSR 8987 as drawn by Ross et al. (2021), alexisjihyeross/adversarial_recourse",
    ),
)
def bail(raw: Raw, *, variant: str | None = None) -> Parts:
    """People released from prison in North Carolina: did not return (1, favourable) or returned (0).

    Alcohol and drug records are missing for the third part of the source (`FILE` = 3), priors where the file
    says -9, schooling where it says 0. `groups` holds `cohort` (1978 or 1980), `FILE` and `TIME`, the months
    until return. `bail_ross` repeats people (its rows are drawn with replacement), so a random split of it
    puts the same person on both sides.
    """
    X, y = raw[BAIL.names], 1 - raw["RECID"].to_numpy("int64")
    groups = raw[["cohort", "FILE", "TIME"]]
    if variant == "robustness-tradeoffs":
        plain = Schema([f.replace(missing=None, bounds=None) for f in BAIL])
        return Parts(X=X, y=y, schema=freed(plain).resolve(X), groups=groups)
    known = {
        "ALCHY": raw["FILE"] != 3,
        "JUNKY": raw["FILE"] != 3,
        "PRIORS": raw["PRIORS"] != -9,
        "SCHOOL": raw["SCHOOL"] != 0,
    }
    if variant == "actionable-recourse":
        rows = np.logical_and.reduce([values.to_numpy() for values in known.values()])
        plain = Schema([f.replace(missing=None, bounds=None) for f in BAIL])
        X = X[rows]
        schema = only(plain, {"SCHOOL": "increase", "RULE": "free"}).resolve(X)
        return Parts(X=X, y=y[rows], schema=schema, groups=groups[rows])
    X = X.assign(**{name: X[name].where(values) for name, values in known.items()})
    return Parts(X=X, y=y, schema=BAIL.resolve(X), groups=groups)
