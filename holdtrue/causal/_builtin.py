"""Causal models of the literature, by name."""

from pathlib import Path

from holdtrue.causal._equation import Equation, Term
from holdtrue.causal._scm import SCM, Node
from holdtrue.errors import SchemaError
from holdtrue.schema import did_you_mean


def _german_credit() -> SCM:
    """German credit, four columns: sex and age -> amount -> duration (Karimi, Schölkopf, Valera, 2020).

    The equations are left open: linear, and learned from the rows that a method is fitted on.
    """
    return SCM(
        [
            Node(name="personal_status_sex"),
            Node(name="age"),
            Node(name="amount", parents=("personal_status_sex", "age")),
            Node(name="duration", parents=("amount",)),
        ]
    )


def _german_credit_simulated() -> SCM:
    """Simulated loan applicants, seven columns, equations given (Karimi, von Kügelgen et al., 2020).

    Units are theirs: age is in years above the mean of 35, the others are free of units. The noise is
    Bernoulli(0.5) for gender, Gamma(10, 3.5) - 35 for age, and normal with deviations 0.5, 2, 3, 2 and 5 for
    education, loan amount, duration, income and savings.
    """

    def linear(**coefficients: float) -> list[Term]:
        return [Term(of=(name,), coefficient=value) for name, value in coefficients.items()]

    grown = [Term(of=("age",), function="sigmoid", scale=0.1, coefficient=1.0)]
    return SCM(
        [
            Node(name="gender"),
            Node(name="age"),
            Node(
                name="education",
                parents=("gender", "age"),
                equation=Equation(
                    intercept=-1.0, terms=linear(gender=0.5) + grown, link="logit", low=-0.5, high=0.5
                ),
            ),
            Node(
                name="loan_amount",
                parents=("age", "gender"),
                equation=Equation(
                    intercept=1.0,
                    # 0.01 (A - 5) (5 - A)
                    terms=[
                        Term(of=("age",), function="square", shift=-5.0, coefficient=-0.01),
                        *linear(gender=1.0),
                    ],
                ),
            ),
            Node(
                name="loan_duration",
                parents=("age", "gender", "loan_amount"),
                equation=Equation(intercept=-1.0, terms=linear(age=0.1, gender=2.0, loan_amount=1.0)),
            ),
            Node(
                name="income",
                parents=("age", "gender", "education"),
                equation=Equation(
                    intercept=-0.5,  # -4 + 0.1 * 35
                    terms=[*linear(age=0.1, gender=2.0), Term(of=("gender", "education"), coefficient=1.0)],
                ),
            ),
            Node(
                name="savings",
                parents=("income",),
                equation=Equation(
                    intercept=-4.0, terms=[Term(of=("income",), function="positive", coefficient=1.5)]
                ),
            ),
        ]
    )


BUILTIN = {"german_credit": _german_credit, "german_credit_simulated": _german_credit_simulated}


def named(name: str) -> SCM:
    """A causal model by its name; see `BUILTIN`."""
    if name not in BUILTIN:
        raise SchemaError(f"SCM: unknown name; got {name!r}. {did_you_mean(name, list(BUILTIN))}")
    return BUILTIN[name]()


def find(scm: SCM | str) -> SCM:
    """A causal model from itself, a built-in name, or the path of a file."""
    if isinstance(scm, SCM):
        return scm
    if isinstance(scm, str):
        looks_like_a_file = Path(scm).suffix in (".yaml", ".yml", ".json") or Path(scm).is_file()
        return SCM.load(scm) if looks_like_a_file and scm not in BUILTIN else named(scm)
    raise SchemaError(f"SCM: `scm` must be an SCM, a name or a path; got {scm!r}. Names are {list(BUILTIN)!r}.")
