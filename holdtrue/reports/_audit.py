"""Ask everything again, and gather the answers."""

import numpy as np

from holdtrue import metrics
from holdtrue.encoding import NORMS, Norm, broken_limits
from holdtrue.errors import DataError
from holdtrue.methods import RecourseFrame
from holdtrue.reports._against import Against, Panel, answers, check_plan, check_shares, digests, panel
from holdtrue.reports._parts import People, Survival, chunks, spread, summarise
from holdtrue.reports._reach import reach_of
from holdtrue.reports._report import Report
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import hinted
from holdtrue.search import Status


@hinted()
def audit(
    plan: RecourseFrame,
    against: Against | None = None,
    *,
    confidence: float = 0.95,
    level: float = 0.9,
    prove: bool = False,
    group: object = None,
    time_limit: float = 10.0,
) -> Report:
    """Measure recourse: is it valid, what does it cost, does it hold when the model is trained again?

    Nothing in the plan is taken on trust: the model is asked again about every person and every recourse, every
    limit of the schema is held against every recourse, and costs are computed from the tables.

    Parameters
    ----------
    plan : RecourseFrame
        What ``clf.recourse(X)`` returned.
    against : Retrained, or a sequence of classifiers, optional
        Models to hold the recourse against: ``holdtrue.retrain(clf, n=100)``, or anything with ``predict``. Each
        decides as its own ``predict`` does; wrap a foreign one with `holdtrue.wrap` to give it a threshold.
    confidence : float, default=0.95
        Of each person's Clopper-Pearson lower bound on survival.
    level : float, default=0.9
        A person whose lower bound exceeds this is counted as assured.
    prove : bool, default=False
        Settle whether those without a recourse in the plan have one at all, by `ExactSearch`: `Report.reach`
        counts who has recourse, who is proved to have none, and who is undecided. The model must be one that it
        reads.
    group : str or array, optional
        For `prove`: a column of the table, or a label per person, by which these are counted too.
    time_limit : float, default=10.0
        For `prove`: seconds for one person.

    Returns
    -------
    Report
        Prints as a table; `to_frame`, `per_person`, `to_dict`, `write`.

    Notes
    -----
    Limits given to single people (`restrictions`) are part of the plan and are checked too.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), random_state=0).fit(bank.X, bank.y)
    >>> report = ht.audit(clf.recourse(bank.X[:50]))
    >>> report.validity, report.n_broken
    (1.0, 0)
    """
    check_plan(plan, "audit")
    if not plan.single:
        raise DataError(
            f"audit: each person must have one recourse; got {len(plan)} for {len(np.unique(plan.person))} people."
            " Choose one option each, as in plan.take(plan.option == 0)."
        )
    check_shares("audit", confidence=confidence, level=level)
    if group is not None and not prove:
        raise DataError(f"audit: `group` is for prove=True; got group={group!r} without it. Add prove=True.")
    models = None if against is None else panel(against, "audit")
    found, n = plan.found, len(plan)
    favourable, valid = _ask_again(plan)
    people = _measure(plan, models)
    refused = ~favourable
    sound = valid & ~people.broken
    reached = plan.status != int(Status.NOT_REACHED)
    promised = found | (plan.status == int(Status.ALREADY_FAVOURABLE))
    at_odds = reached & ((promised != valid) | (np.asarray(plan.valid, bool) != valid))
    rates = metrics.change_rates(people.changed)
    columns = _columns(plan, people, valid, confidence)
    reach = None
    if prove:
        reach, known = reach_of(
            plan, refused, found & sound, group=group, confidence=confidence, time_limit=time_limit
        )
        columns["reach"] = known
    return Report(
        method=plan.method,
        norm=plan.norm,
        model=plan.predictor.digest(),
        n_people=n,
        n_refused=int(refused.sum()),
        n_found=int(found.sum()),
        counts=plan.counts(),
        share=metrics.share_with_recourse(plan.status, refused=refused, valid=sound),
        validity=metrics.validity(valid, found),
        n_at_odds=int(at_odds.sum()),
        n_broken=int(people.broken.sum()),
        broken=people.sentences,
        costs={norm: summarise(cost[found]) for norm, cost in people.costs.items()},
        weighted=any(f.cost_weight != 1 for f in plan.schema),
        sparsity=summarise(metrics.sparsity(people.changed)),
        change_rates={f.name: float(rate) for f, rate in zip(plan.schema, rates, strict=True)},
        titles={f.name: f.title for f in plan.schema},
        survival=None if models is None else _survival(models, plan, people, columns, valid, confidence, level),
        reach=reach,
        seconds=float(plan.seconds),
        people=columns,
        table=plan.factual,
    )


def _ask_again(plan: RecourseFrame) -> tuple[np.ndarray, np.ndarray]:
    """Whether the model takes the wanted decision: about each person, and about each as proposed."""
    decide, classes = plan.predictor.decide, plan.predictor.classes
    favourable = np.zeros(len(plan), bool)
    for rows in chunks(np.arange(len(plan))):
        part = plan.take(rows)
        favourable[rows] = classes[decide(part.factual)] == part.target
    valid = favourable.copy()  # without a recourse, the person stays as they are
    for rows in chunks(np.flatnonzero(plan.found)):
        part = plan.take(rows)
        valid[rows] = classes[decide(part.recourse)] == part.target
    return favourable, valid


def _measure(plan: RecourseFrame, models: Panel | None) -> People:
    """Costs, changes, limits and other models' answers of everyone with a recourse, a chunk at a time."""
    encoder, found = plan.predictor.encoder, np.flatnonzero(plan.found)
    needless = np.where(plan.status == int(Status.ALREADY_FAVOURABLE), 0.0, np.nan)
    costs: dict[Norm, np.ndarray] = {norm: needless.copy() for norm in NORMS}
    broken, sentences = np.zeros(len(plan), bool), {}
    changed = [np.zeros((0, len(plan.schema)), bool)]
    for rows in chunks(found):
        part = plan.take(rows)
        for norm, cost in metrics.costs(
            encoder, encoder.encode(part.factual), encoder.encode(part.action)
        ).items():
            costs[norm][rows] = cost
        for row, texts in zip(
            rows,
            broken_limits(encoder, part.factual, part.recourse, part.restrictions, part.consequences),
            strict=True,
        ):
            broken[row] = bool(texts)
            for text in texts:
                sentences[text] = sentences.get(text, 0) + 1
        changed.append(part.acted())
    matrix = np.zeros((0, len(found)), bool) if models is None else answers(models, plan, "audit")
    return People(costs, broken, sentences, np.concatenate(changed), matrix)


def _survival(
    models: Panel,
    plan: RecourseFrame,
    people: People,
    columns: dict[str, np.ndarray],
    valid: np.ndarray,
    confidence: float,
    level: float,
) -> Survival:
    fraction = metrics.survival(people.accepts)
    rate = metrics.invalidation_rate(people.accepts[:, valid[plan.found]])
    return Survival(
        vary=models.vary if isinstance(models, AbstractRetrained) else None,
        n_models=len(models),
        confidence=confidence,
        level=level,
        mean=float(fraction.mean()) if len(fraction) else float("nan"),
        worst=float(fraction.min()) if len(fraction) else float("nan"),
        n_always=int((fraction == 1.0).sum()),
        n_assured=int((columns["survival_lower"] > level).sum()),  # NaN, without a recourse, is not above
        invalidation=rate.mean,
        invalidation_std=rate.std,
        invalidation_worst=rate.worst,
        n_consulted=sum(digest in plan.consulted for digest in digests(models)) if plan.consulted else 0,
    )


def _columns(plan: RecourseFrame, people: People, valid: np.ndarray, confidence: float) -> dict[str, np.ndarray]:
    """One value per person: what `Report.per_person` shows."""
    found = plan.found
    n_changed = people.costs["l0"].copy()  # 0 where nothing needs to change, NaN without a recourse
    n_changed[found] = metrics.sparsity(people.changed)
    columns = {
        "status": np.array([Status(s).name for s in plan.status], object),
        "valid": valid,
        "limits_kept": ~people.broken,
        "n_changed": n_changed,
        **{f"cost_{norm}": cost for norm, cost in people.costs.items()},
    }
    if len(people.accepts):
        yes, n_models = people.accepts.sum(axis=0), len(people.accepts)
        columns["survival"] = spread(metrics.survival(people.accepts), found)
        columns["survival_lower"] = spread(metrics.clopper_pearson(yes, n_models, confidence)[0], found)
    return columns
