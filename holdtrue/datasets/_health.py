"""Medicine: cardiotocograms, warfarin doses, EEG. Read recourse here as explanation, not as advice."""

import numpy as np
import pandas as pd

from holdtrue.datasets._columns import UCI, choice, fixed, flag, freed, is_one, number, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.errors import DataError
from holdtrue.schema import Schema

CTG = Schema(
    [
        whole("LB", "baseline heart rate", unit="beats a minute"),
        number("AC", "accelerations a second"),
        number("FM", "movements a second"),
        number("UC", "contractions a second"),
        number("DL", "light decelerations a second"),
        number("DS", "severe decelerations a second"),
        number("DP", "prolonged decelerations a second"),
        whole("ASTV", "time with abnormal short-term variability", unit="%"),
        number("MSTV", "mean short-term variability"),
        whole("ALTV", "time with abnormal long-term variability", unit="%"),
        number("MLTV", "mean long-term variability"),
        whole("Width", "histogram width"),
        whole("Min", "histogram minimum"),
        whole("Max", "histogram maximum"),
        whole("Nmax", "histogram peaks"),
        whole("Nzeros", "histogram zeros"),
        whole("Mode", "histogram mode"),
        whole("Mean", "histogram mean"),
        whole("Median", "histogram median"),
        whole("Variance", "histogram variance"),
        whole("Tendency", "histogram tendency", bounds=(-1, 1)),
    ]
)
_NSP = np.array(["", "normal", "suspect", "pathologic"])


@register(
    "cardiotocography",
    rows=2126,
    features=21,
    target="NSP",
    favourable=1,
    source="UCI 193, Cardiotocography (Campos and Bernardes 2000), doi 10.24432/C51S4N",
    licence=UCI,
    file=RawFile(name="cardiotocography.csv.gz", rows=2126, width=23, columns=(*CTG.names, "CLASS", "NSP")),
)
def cardiotocography(raw: Raw, *, classes: int = 2) -> Parts:
    """Heart-rate recordings before birth, as obstetricians judged them: normal (1, favourable) or not (0).

    ``classes=3`` keeps "normal" (favourable), "suspect" and "pathologic" apart. All 21 measurements are free
    to move. `groups` holds `CLASS`, the ten patterns of the source.
    """
    if classes not in (2, 3):
        raise DataError(f"datasets.load: `classes` must be 2 or 3; got {classes!r}.")
    X = raw[CTG.names]
    y = is_one(raw["NSP"], 1) if classes == 2 else _NSP[raw["NSP"].to_numpy()]
    favourable = 1 if classes == 2 else "normal"
    return Parts(X=X, y=y, schema=CTG.resolve(X), groups=raw[["CLASS"]], favourable=favourable)


_DOSE = "Therapeutic Dose of Warfarin"
_RENAMED = {
    "Age": "age",
    "Height (cm)": "height",
    "Weight (kg)": "weight",
    "Race": "race",
    "Amiodarone (Cordarone)": "amiodarone",
    "CYP2C9 consensus": "CYP2C9",
    "VKORC1 -1639 consensus": "VKORC1",
}
# Carbamazepine, phenytoin and rifampicin speed up the enzymes that break warfarin down.
_INDUCERS = ("Carbamazepine (Tegretol)", "Phenytoin (Dilantin)", "Rifampin or Rifampicin")
# What a patient and a physician can change is weight and the other drugs.
WARFARIN = Schema(
    [
        number("weight", "weight", unit="kg", bounds=(30, 240), missing="median"),
        flag("amiodarone", "taking amiodarone"),
        flag("enzyme_inducer", "taking an enzyme inducer"),
        *fixed(
            [
                whole("age", "age (start of the decade)", unit="years", missing="median"),
                number("height", "height", unit="cm", missing="median"),
                choice("race", "race"),
                choice("VKORC1", "VKORC1 genotype", missing="level"),
                choice("CYP2C9", "CYP2C9 genotype", missing="level"),
            ]
        ),
    ]
)


@register(
    "warfarin",
    rows=5528,
    features=8,
    classes=3,
    target="dose class",
    favourable="low",
    protected=("age", "race", "VKORC1", "CYP2C9"),
    source="International Warfarin Pharmacogenetics Consortium (2009), PharmGKB PA162355460",
    licence="CC BY-SA 4.0, as PharmGKB states",
    file=RawFile(name="warfarin_iwpc.csv.gz", rows=5700, width=63, columns=(*_RENAMED, *_INDUCERS, _DOSE)),
    variants={
        "consistent-counterfactuals": "rows without age, height or weight dropped, unknown genotypes a level: "
        "4,386 rows, everything free. The paper reports 4,819; no rule on this file that drops rows without "
        "a height can leave more than 4,554.",
    },
)
def warfarin(raw: Raw, *, variant: str | None = None) -> Parts:
    """Patients on warfarin by stable weekly dose: "low" (under 21 mg, favourable), "medium", "high" (over 49).

    The 5,528 patients with a dose. A drug that is not mentioned counts as not taken, as in the consortium's
    own model. `groups` holds the `dose` in milligrams a week.
    """
    frame = raw[raw[_DOSE].notna()]
    if variant is not None:
        frame = frame.dropna(subset=["Age", "Height (cm)", "Weight (kg)"])
    dose = frame[_DOSE].to_numpy("float64")
    X = frame[list(_RENAMED)].rename(columns=_RENAMED)
    X = X.assign(
        age=pd.to_numeric(X["age"].str.slice(0, 2)),
        amiodarone=(X["amiodarone"] == 1).astype("int64"),
        enzyme_inducer=(frame[list(_INDUCERS)] == 1).any(axis=1).astype("int64"),
    )[WARFARIN.names]
    y = np.select([dose < 21, dose > 49], ["low", "high"], "medium")
    schema = WARFARIN
    if variant is not None:
        complete = [f.replace(missing=None) if f.kind in ("numeric", "integer") else f for f in WARFARIN]
        schema = freed(Schema(complete))
    return Parts(X=X, y=y, schema=schema.resolve(X), groups=pd.DataFrame({"dose": dose}))


_SAMPLES = tuple(f"X{i}" for i in range(1, 179))


@register(
    "seizure",
    rows=11500,
    features=178,
    target="y",
    favourable=1,
    source="Andrzejak et al. (2001), Bonn EEG sets A to E, cut as UCI 388, doi 10.24432/C5G308",
    licence="research use with citation (no explicit licence)",
    file=RawFile(
        name="epileptic_seizure.parquet", rows=11500, width=181, columns=("recording", "chunk", *_SAMPLES, "y")
    ),
)
def seizure(raw: Raw) -> Parts:
    """One second of EEG in 178 samples: no seizure (1, favourable) or seizure (0).

    All samples are free to move. `groups` holds `recording`, `chunk` and `state` (1 seizure, 2 to 5 not):
    keep the 23 chunks of a recording together when you split, or the test set knows the patients.
    """
    X = raw[list(_SAMPLES)].astype("int64")
    schema = Schema([whole(name) for name in _SAMPLES])
    groups = raw[["recording", "chunk"]].assign(state=raw["y"].astype("int64"))
    return Parts(X=X, y=1 - is_one(raw["y"], 1), schema=schema.resolve(X), groups=groups)
