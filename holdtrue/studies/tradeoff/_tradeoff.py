"""Training settings side by side on one table: accuracy, robustness, recourse and how long it holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split

from holdtrue._types import Label
from holdtrue.classifier import RecourseClassifier, some_rows
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod
from holdtrue.metrics import ATTACK_NORMS, AttackNorm, collapse_radius, robust_accuracy
from holdtrue.models import AbstractArchitecture, fresh
from holdtrue.reports import audit
from holdtrue.schema import Schema, TableLike, favourable_of, hinted
from holdtrue.studies.tradeoff._result import Choice, Tradeoff
from holdtrue.training import AbstractRegime, AdversarialTraining, regime

RADII = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
Sweeps = Mapping[str, Sequence[float]]


@hinted()
def tradeoff(
    X: TableLike,
    y: ArrayLike,
    *,
    schema: Schema | None = None,
    regimes: Mapping[str, AbstractRegime] | Sequence[str] = ("standard", "adversarial"),
    radii: Sequence[float] = RADII,
    sweeps: Sweeps | None = None,
    model: AbstractArchitecture | None = None,
    method: AbstractMethod | None = None,
    attack: float = 0.05,
    norm: AttackNorm = "linf",
    people: int | None = 200,
    retrainings: int = 10,
    test_size: float = 0.25,
    favourable: Label | None = None,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Tradeoff:
    """Train a model under every setting and measure what each gives to its owner and to the people it refuses.

    Parameters
    ----------
    X, y : dataframe and labels of two classes
    schema : Schema, optional
        What people may change; guessed when omitted.
    regimes : mapping of name to regime, or registered names, default=("standard", "adversarial")
        What is trained. An `AdversarialTraining` is trained at every one of `radii`.
    radii : sequence of float
        Radii of the adversary in training.
    sweeps : mapping, optional
        Further parameters to vary: ``{"recourse.recourse_weight": [0.2, 0.8]}``.
    model, method : optional
        Architecture and recourse method; those of `RecourseClassifier` when omitted.
    attack : float, default=0.05
        Radius of the attack under which every model's accuracy is measured.
    norm : {"linf", "l2"}, default="linf"
        Of that attack.
    people : int, optional
        The first so many refused people of the held-out rows are asked about; all when None.
    retrainings : int, default=10
        Models of other seeds that every recourse is held against; 0 leaves the shelf life out.
    test_size : float, default=0.25
        Share of rows held out.
    favourable : label, optional
        The class people want.
    random_state : int, default=0
        Seed of the split, the training and the retraining.
    progress : callable, optional
        Told ``(setting, done, total)``.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> regimes = {"adversarial": ht.AdversarialTraining(n_epochs=20, step_size=0.02, class_weight="balanced")}
    >>> found = ht.tradeoff(bank.X, bank.y, schema=bank.schema, regimes=regimes, radii=(0.0, 0.5),
    ...                     model=ht.Linear(), people=10, retrainings=0)
    >>> [choice.constant for choice in found.choices]
    [None, 'accepts everybody: none refused']
    """
    if norm not in ATTACK_NORMS:
        raise DataError(f"tradeoff: `norm` is not known; got {norm!r}. Known are {list(ATTACK_NORMS)!r}.")
    if not (np.isfinite(attack) and attack >= 0):
        raise DataError(f"tradeoff: `attack` must be a radius of at least 0; got {attack!r}.")
    settings = _settings(regimes, radii, sweeps or {})
    name, y = getattr(y, "name", None), np.asarray(y)
    if len(np.unique(y)) != 2:
        raise DataError(f"tradeoff: needs two classes; got {len(np.unique(y))}.")
    favourable = favourable_of(y, favourable, name=name, where="tradeoff")
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state, stratify=y)
    train, test = np.sort(train), np.sort(test)
    X_train, X_test = some_rows(X, train), some_rows(X, test)
    choices, costs = [], []
    collapse = searched = None
    for i, (name, parameter, value, rule) in enumerate(settings):
        if progress is not None:
            progress(name if parameter is None else f"{name}, {parameter} = {value:g}", i, len(settings))
        clf = RecourseClassifier(
            schema=schema, model=None if model is None else fresh(model), regime=rule,
            method=None if method is None else fresh(method), favourable=favourable, hold=None,
            random_state=random_state,
        ).fit(X_train, y[train])  # fmt: skip
        if collapse is None:
            assert clf.training_ is not None  # fitted here
            data = clf.training_.data
            radius = collapse_radius(
                np.asarray(data.x), np.asarray(data.y), norm=norm, weight=np.asarray(data.weight)
            )
            collapse = radius if np.isfinite(radius) else None
        choice, cost = _measured(clf, X_test, y[test], (name, parameter, value), attack, norm, people, retrainings)
        choices.append(choice)
        searched = type(clf.method_).__name__
        costs.append(cost)
    same = _same_people(choices, costs)
    choices = [replace(c, cost_same_people=s) for c, s in zip(choices, same, strict=True)]
    setup = {
        "rows": f"{len(train):,} to learn from, {len(test):,} held out",
        "people asked about": "all refused" if people is None else f"the first {people} refused",
        "attack": f"radius {attack:g}, {norm}",
        "method": searched,
        "retrainings": retrainings,
        "seed": random_state,
    }
    return Tradeoff(tuple(choices), setup, collapse)


def _settings(
    regimes: Mapping[str, AbstractRegime] | Sequence[str], radii: Sequence[float], sweeps: Sweeps
) -> list[tuple[str, str | None, float | None, AbstractRegime]]:
    """Every regime with every value that it is to be trained at."""
    named = dict(regimes) if isinstance(regimes, Mapping) else {name: regime(name)() for name in regimes}
    if not named:
        raise DataError(
            "tradeoff: `regimes` names nothing to train. Write for example ('standard', 'adversarial')."
        )
    varied: dict[str, tuple[str, Sequence[float]]] = {
        name: ("radius", tuple(radii)) for name, rule in named.items() if isinstance(rule, AdversarialTraining)
    }
    for key, values in sweeps.items():
        name, _, parameter = key.partition(".")
        parameter = parameter.replace(".", "__")  # of a part, as scikit-learn names it
        if name not in named or parameter not in named[name].get_params():
            raise DataError(
                f"tradeoff: `sweeps` names no parameter of a regime; got {key!r}. Write REGIME.PARAMETER with a "
                f"regime among {list(named)!r}."
            )
        varied[name] = (parameter, tuple(values))
    out: list[tuple[str, str | None, float | None, AbstractRegime]] = []
    for name, rule in named.items():
        if name not in varied:
            out.append((name, None, None, fresh(rule)))
            continue
        parameter, values = varied[name]
        out += [(name, parameter, float(v), fresh(rule).set_params(**{parameter: float(v)})) for v in values]
    return out


def _measured(
    clf: RecourseClassifier, X: TableLike, y: np.ndarray, setting: tuple[str, str | None, float | None],
    attack: float, norm: AttackNorm, people: int | None, retrainings: int,
) -> tuple[Choice, np.ndarray]:  # fmt: skip
    """One setting's figures, and the cost of every held-out person who has recourse (NaN for others)."""
    predictor = clf.predictor_
    decided = clf.predict(X)
    rows = predictor.encoder.encode(X)
    codes = np.searchsorted(predictor.classes, y)
    refused = np.flatnonzero(decided != predictor.favourable)
    asked = refused if people is None else refused[:people]
    choice = Choice(
        *setting,
        accuracy=float((decided == y).mean()),
        robust_accuracy=robust_accuracy(predictor.decision, rows, codes, attack, norm=norm),
        favourable=float(1 - len(refused) / len(y)),
        n_refused=len(refused),
        n_asked=len(asked),
    )
    cost = np.full(len(y), np.nan)
    if len(asked) == 0:
        return choice, cost
    plan = clf.recourse(some_rows(X, asked))
    ok = np.asarray(plan.found & plan.valid)
    cost[asked[ok]] = plan.cost[ok]
    life = None
    if retrainings and ok.any():
        survival = audit(plan, against=clf.retrain(retrainings)).survival
        life = None if survival is None else survival.mean
    mean = float(plan.cost[ok].mean()) if ok.any() else None
    return replace(choice, validity=float(ok.mean()), cost=mean, shelf_life=life), cost


def _same_people(choices: Sequence[Choice], costs: Sequence[np.ndarray]) -> list[float | None]:
    """Mean cost over people who have recourse under every setting that is not constant."""
    kept = [cost for choice, cost in zip(choices, costs, strict=True) if choice.constant is None]
    if not kept:
        return [None] * len(choices)
    who = np.isfinite(np.stack(kept)).all(axis=0)
    return [
        float(cost[who].mean()) if choice.constant is None and who.any() else None
        for choice, cost in zip(choices, costs, strict=True)
    ]
