"""Which class people want: taken where it is plain, asked for where it is not."""

import numpy as np
import pandas as pd
import pytest

from holdtrue.errors import DataError
from holdtrue.schema import favourable_of, plainly_wanted

BAD_NAMES = """
    dflt dflt_flag isDflt default Default defaulted default_12m default.payment.next.month def_flag loan_default
    NPL npl_flag isNPL nonperforming non_performing NonPerformingLoan impaired turned_down turnedDown deny denied
    reject rejected refused declined Kreditausfall kredit_ausfall Zahlungsausfall Ausfall ausgefallen notleidend
    Kündigung Abwanderung Exited exited Exit churn Churn churned Attrition Attrition_Flag left lapsed bad bad_flag
    isBad BAD GB_bad charged_off chargeOff writeoff written_off recid two_year_recid is_recid reoffend rearrest
    arrested fraud isFraud bankrupt Bankrupt. SeriousDlqin2yrs delinquent late unpaid not_paid not.fully.paid
    nonpayment risk_flag foreclosed evicted impago moroso en_mora incumplimiento fuga abandono defaut impaye
    défaillance contentieux resilie inadimplente atraso insolvenza sofferenza deteriorato abbandono
    readmitted stroke death DEATH_EVENT mortality diabetes HeartDisease dropout loan_status
"""
"""Targets of which nobody wants the 1."""
OTHER_NAMES = """
    approved approve accepted granted y label class outcome target paid_back repaid good creditworthy hired
    admitted passed graduated survived income inlf employed Kreditzusage bewilligt accordé aprobado aprovado
    approvato selected defence definite rebadged baden abadia deft leftover stays
"""


@pytest.mark.parametrize(
    ("classes", "name", "wanted"),
    [
        ([0, 1], None, 1),
        ([0, 1], "approve", 1),
        ([0, 1], "y", 1),
        ([-1, 1], None, 1),
        ([False, True], "loan_approved", True),
        (["no", "yes"], "approved", "yes"),
        (["N", "Y"], "creditGranted", "Y"),
        (["approve", "deny"], "decision", "approve"),
        (["bad", "good"], "credit", "good"),
        (["approved", "not approved"], "status", "approved"),
        (["default", "no default"], "y", "no default"),
        (["Charged Off", "Fully Paid"], "loan_status", "Fully Paid"),
        (["abgelehnt", "genehmigt"], "Entscheidung", "genehmigt"),
        (["aprobado", "denegado"], "resultado", "aprobado"),
        (["accordé", "refusé"], "décision", "accordé"),
    ],
)
def test_what_is_plain_is_taken(classes, name, wanted) -> None:
    assert plainly_wanted(classes, name) == wanted


@pytest.mark.parametrize(
    ("classes", "name"),
    [
        ([0, 1], "deny"),  # 1 would be bad news
        ([0, 1], "default.payment.next.month"),
        ([0, 1], "SeriousDlqin2yrs"),
        ([0, 1], "isChurned"),
        ([0, 1], "impago"),
        ([0, 1], "not_approved"),
        ([False, True], "fraud"),
        (["no", "yes"], "deny"),
        (["no", "yes"], None),
        ([1, 2], "credit"),
        ([0, 1, 2], None),
        (["<=50K", ">50K"], "income"),
        (["Charged Off", "Current", "Fully Paid", "Late (31-120 days)"], "loan_status"),  # two are good
    ],
)
def test_what_is_not_plain_is_asked(classes, name) -> None:
    assert plainly_wanted(classes, name) is None
    with pytest.raises(DataError, match=r"which class.* people want is not plain; got .*Write favourable=LABEL"):
        favourable_of(classes, name=name)


@pytest.mark.parametrize("name", BAD_NAMES.split())
def test_a_bad_outcome_of_0_and_1_is_never_wanted_by_itself(name) -> None:
    assert plainly_wanted([0, 1], name) is None
    assert plainly_wanted([False, True], name) is None
    assert plainly_wanted(["No", "Yes"], name) is None
    with pytest.raises(DataError, match="people want is not plain"):
        favourable_of([0, 1], name=name)


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_a_good_or_neutral_outcome_of_0_and_1_is_1(name) -> None:
    assert plainly_wanted([0, 1], name) == 1


def test_the_question_has_the_shares() -> None:
    with pytest.raises(DataError, match=r"^fit: which class of 'deny' .*; got 'no' 75%, 'yes' 25%\. Write it\.$"):
        favourable_of(["no", "no", "yes", "no"], name="deny", where="fit", write="it")


def test_what_is_given_counts() -> None:
    labels = np.array(["no", "yes", "no"])
    assert favourable_of(labels, "no", name="deny") == "no"
    assert favourable_of(labels, "(last)", name="deny") == "yes"
    with pytest.raises(DataError, match=r"`favourable` is not a class; got .maybe.. Classes are"):
        favourable_of(labels, "maybe")


def test_every_door_asks() -> None:
    """A target named `deny` never trains advice on how to be denied."""
    from sklearn.linear_model import LogisticRegression

    import holdtrue as ht

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.uniform(0, 1, 80).round(2)})
    deny = pd.Series(np.where(X.income < 0.5, "yes", "no"), name="deny")
    schema = ht.Schema([ht.Feature(name="income", kind="numeric", bounds=(0, 1))])
    model = LogisticRegression().fit(X, deny)
    asks = "people want is not plain"
    for call in (
        lambda: ht.RecourseClassifier(schema=schema).fit(X, deny),
        lambda: ht.RecourseClassifier(schema=schema).fit(X, (deny == "yes").astype(int)),
        lambda: ht.recourse(model, X[:2], schema, reference=X),
        lambda: ht.adopt(model, schema, reference=X),
        lambda: ht.reasons(model, X[:2], schema, reference=X),
        lambda: ht.compare(X, deny, schema=schema),
        lambda: ht.tradeoff(X, deny, schema=schema),
        lambda: ht.tune(X, deny, schema=schema, n_trials=1),
        lambda: ht.backtest(LogisticRegression(), [(i, X, deny) for i in range(3)], schema),
    ):
        with pytest.raises(DataError, match=asks):
            call()
    plan = ht.recourse(model, X[:8], schema, reference=X, favourable="no")
    assert (plan.to_frame()["income"][plan.valid] >= 0.4).all()
