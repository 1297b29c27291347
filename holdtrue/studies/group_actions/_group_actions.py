"""A few actions that serve many people."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdtrue._types import Estimator
from holdtrue.classifier import AbstractClassifier, recourse
from holdtrue.errors import DataError
from holdtrue.hold import Holding
from holdtrue.methods import RecourseFrame
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import Schema, TableLike, as_table, did_you_mean, hinted
from holdtrue.studies.group_actions._actions import COMMON, FORMS, Action, Form, from_plan
from holdtrue.studies.group_actions._choose import cap_of, choose, served
from holdtrue.studies.group_actions._result import GroupActions
from holdtrue.studies.group_actions._trial import Trial

# How much more than one person needs, so that others are served too; of an end, that is where it leads.
SCALES: dict[Form, tuple[float, ...]] = {"by": (1.0, 1.5, 2.0, 3.0), "to": (1.0,), "along": (1.0, 2.0, 4.0)}
MOST_GROUPS = 20


@hinted(recourse)
def group_actions(
    model: RecourseFrame | Estimator,
    X: TableLike | None = None,
    schema: Schema | None = None,
    *,
    by: str | ArrayLike | None = None,
    k: int = 3,
    max_cost: float | None = None,
    mean_cost: float | None = None,
    forms: tuple[Form, ...] = COMMON,
    n_candidates: int = 100,
    rounds: int = 3,
    held_out: float = 0.5,
    judges: AbstractRetrained | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    **options: object,
) -> GroupActions:
    """Find a few actions that are the same for everybody and serve as many refused people as they can.

    An action is a change of a few columns: by an amount, up to an end ("lower the loan to 60% of the price, where
    it is not there"), or to a level. It serves a person where the model then accepts them and no limit of the
    schema is broken; who would have to break one is not served. Candidates are what single people's recourse
    changes, and more of it; the `k` of these that serve most are chosen by an integer program (greedily where it
    is not solved), and each is then changed as long as that serves more people, or as many at less cost. What they
    do is measured on people who had no part in the choice.

    Parameters
    ----------
    model : RecourseFrame, or a model
        A plan, whose people are asked about; or a classifier or anything that `holdtrue.recourse` takes, with `X`.
    X : dataframe, optional
        With a model: people, of whom the refused are asked about. With a plan: the table that `by` is a column of.
    schema : Schema, optional
        For a model made elsewhere.
    by : str or array, optional
        A column of `X`, or a label per row of it: whom the actions serve is said for every group. With a plan and
        without `X` a column of the plan's people.
    k : int, default=3
        Actions, at most.
    max_cost : float, optional
        Nobody is asked more than this, in the plan's norm.
    mean_cost : float, optional
        Those who are served are asked at most this in the mean: as many as keep it, the cheapest first. What the
        dearest of them pays is then the most that anybody is asked, other people too.
    forms : tuple of {"by", "to", "along"}
        By an amount; up to an end; along a direction, everybody as far as they need ("lower the loan by up to
        20,000, in proportion, as far as needed"), which asks more of some than of others. The first two when
        omitted.
    n_candidates : int, default=100
        People whose recourse is taken as candidates, drawn by the seed.
    rounds : int, default=3
        How often each chosen action is changed: a little, or to ask also what a candidate asks.
    held_out : float, default=0.5
        Share of the people on whom the actions are measured and who have no part in their choice. With 0 all have,
        and what is measured is flattered.
    judges : AbstractRetrained, optional
        Models that are asked whether they accept, too; those of a classifier that holds when omitted.
    confidence : float, default=0.95
        Of every interval.
    random_state : int, default=0
        Of the split and of the candidates.
    options
        For `holdtrue.recourse` with a model made elsewhere: `reference`, `threshold`, `favourable`, `method`.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), hold=None, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> found = ht.group_actions(clf, bank.X, by="male", k=2, n_candidates=20, rounds=1)
    >>> len(found.actions) <= 2, 0 < found.coverage.value <= 1
    (True, True)
    """
    _checked(k=k, n_candidates=n_candidates)
    for name, most in (("max_cost", max_cost), ("mean_cost", mean_cost)):
        if most is not None and not most > 0:
            raise DataError(f"group_actions: `{name}` must be a number above 0; got {most!r}.")
    plan, labels, own = _plan(model, X, schema, by, options)
    if not 0 <= held_out < 1:
        raise DataError(f"group_actions: `held_out` must be a share from 0 to below 1; got {held_out!r}.")
    if not forms or any(form not in FORMS for form in forms):
        raise DataError(f"group_actions: `forms` must be of {list(FORMS)!r}; got {forms!r}.")
    order = np.random.default_rng(random_state).permutation(len(plan))
    n_test = round(held_out * len(plan))
    learn, test = np.sort(order[n_test:]), np.sort(order[:n_test]) if n_test else np.arange(len(plan))
    trial = trial_of(plan.take(learn), max_cost)
    pool = candidates(plan.take(learn), forms, n_candidates, random_state)
    chosen = choose(trial, pool, k, rounds, mean_cost)
    known = trial.matrix(chosen)
    cap = cap_of(known, mean_cost)
    most = max_cost if cap is None else cap  # whom the trial serves, it asks at most `max_cost`
    asked = trial_of(plan.take(test), most)
    return GroupActions(
        actions=tuple(chosen), people=asked.people, target=asked.target, costs=asked.matrix(chosen),
        learned=served(known, most), labels=None if labels is None else labels[test],
        by=by if isinstance(by, str) else "group", predictor=plan.predictor, norm=plan.norm,
        alone=np.where(plan.found, plan.cost, np.inf)[test], judges=own if judges is None else judges,
        confidence=confidence, held_out=bool(n_test), max_cost=most,
    )  # fmt: skip


def trial_of(plan: RecourseFrame, max_cost: float | None) -> Trial:
    """The people of a plan, to try actions on."""
    classes = plan.predictor.classes.tolist()
    target = np.array([classes.index(label) for label in plan.target.tolist()])
    return Trial(plan.predictor, plan.factual, target, plan.norm, max_cost)


def candidates(plan: RecourseFrame, forms: tuple[Form, ...], n: int, seed: int) -> list[Action]:
    """What recourse of single people changes, in every form, and more of it."""
    found = np.flatnonzero(plan.found)
    if len(found) > n:
        found = np.sort(np.random.default_rng(seed).choice(found, n, replace=False))
    out = []
    for i in found.tolist():
        for form in forms:
            out += [from_plan(plan, i, form, scale) for scale in SCALES[form]]
    return out


def _checked(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise DataError(f"group_actions: `{name}` must be a positive whole number; got {value!r}.")


def _plan(
    model: object, X: TableLike | None, schema: Schema | None, by: object, options: dict[str, Any]
) -> tuple[RecourseFrame, np.ndarray | None, AbstractRetrained | None]:
    """The recourse of refused people one by one, their groups, and who judges."""
    if isinstance(model, RecourseFrame):
        plan = model if model.single else model.take(model.option == 0)
        labels = _labels(by, plan.factual if X is None else X, len(plan))
        own = None
    else:
        if X is None:
            raise DataError("group_actions: needs people; got a model and no X.")
        plan = model.recourse(X, **options) if isinstance(model, AbstractClassifier) else None
        plan = recourse(model, X, schema, **options) if plan is None else plan
        labels = _labels(by, X, len(plan))
        method = getattr(model, "method_", None)
        own = method.judges_ if isinstance(method, Holding) else None
    decided = plan.predictor.classes[plan.predictor.decide(plan.factual)]
    refused = decided != plan.target
    if not refused.any():
        raise DataError(f"group_actions: nobody is refused; got {len(plan)} people who have the wanted decision.")
    return plan.take(refused), None if labels is None else labels[refused], own


def _labels(by: object, X: Any, n: int) -> np.ndarray | None:
    if by is None:
        return None
    values = by
    if isinstance(by, str):
        columns = as_table(X, where="group_actions").columns
        if by not in columns:
            raise DataError(f"group_actions: `by` is not a column; got {by!r}. {did_you_mean(by, list(columns))}")
        values = columns[by]
    labels = np.array([str(value) for value in np.asarray(values).tolist()], object)
    if labels.shape != (n,):
        raise DataError(f"group_actions: `by` must have a label per row; got {labels.shape} for {n} rows.")
    if len(set(labels.tolist())) > MOST_GROUPS:
        raise DataError(
            f"group_actions: `by` has more than {MOST_GROUPS} values; got {len(set(labels.tolist()))}. Cut a "
            "number into a few groups first, as pandas.cut does."
        )
    return labels
