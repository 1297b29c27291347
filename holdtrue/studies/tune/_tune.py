"""Choosing a regime's parameters: trials under a budget, kept in a file, none of them on the test rows."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdtrue._optional import need
from holdtrue._registry import made
from holdtrue._types import JsonObject, Keywords, Label, NativeFrame
from holdtrue.classifier import describe
from holdtrue.errors import DataError, HoldtrueError
from holdtrue.methods import AbstractMethod
from holdtrue.models import AbstractArchitecture, fresh
from holdtrue.schema import Schema, TableLike, as_table, did_you_mean, hinted
from holdtrue.studies.tune._bench import Bench, Measured
from holdtrue.studies.tune._result import Trial, Tuning
from holdtrue.training import REGIMES, AbstractRegime, OneOf, Range, Space

NAME = "holdtrue"
EARLY = 4  # a trial is looked at after this part of its epochs
WARM = 5  # trials that have been looked at before one is given up


@hinted()
def tune(
    X: TableLike,
    y: ArrayLike,
    *,
    regime: str | AbstractRegime = "counterfactual",
    space: Space | None = None,
    schema: Schema | None = None,
    model: AbstractArchitecture | None = None,
    method: str | AbstractMethod | None = None,
    favourable: Label | None = None,
    scaling: str = "minmax",
    n_trials: int = 30,
    seconds: float | None = None,
    study: str | Path | None = None,
    people: int = 200,
    validation_size: float = 0.25,
    min_found: float = 0.95,
    slack: float = 0.02,
    prune: bool = True,
    random_state: int = 0,
    on_trial: Callable[[int], None] | None = None,
) -> Tuning:
    """Try parameters of a regime, and weigh accuracy against how plausible and how cheap recourse is.

    Parameters
    ----------
    X, y : dataframe and labels
        Rows that may be seen. Those that will judge the chosen setting must not be among them.
    regime : str or AbstractRegime, default="counterfactual"
        A registered name, or an object whose other parameters hold for all trials.
    space : dict, optional
        Parameter to `Range` or `OneOf`; the regime's own `search_space` when omitted. Parameters of a part are
        written as in scikit-learn: ``attacker__eps``.
    schema, model, method, favourable, scaling
        As in `RecourseClassifier`.
    n_trials : int, default=30
        Trials in all, with those that the study holds already.
    seconds : float, optional
        No trial is begun after this.
    study : path, optional
        An SQLite file that keeps every trial: called again with the same arguments, it goes on. One process at a
        time.
    people : int, default=200
        Validation rows that recourse is sought for, where the model refuses them; none was accepted in truth.
    validation_size : float, default=0.25
        Share of the rows that are not learned from, and that every figure is measured on.
    min_found : float, default=0.95
        A setting that finds recourse for a smaller share of them takes no part.
    slack : float, default=0.02
        How much accuracy the chosen setting may give away to be more plausible or cheaper.
    prune : bool, default=True
        Whether to look at a trial after a quarter of its epochs, and give it up where all three figures are worse
        than the median of the trials before it.
    random_state : int, default=0
        Seed of the split, the training and the sampler.
    on_trial : callable, optional
        Told how many trials are done.

    Notes
    -----
    Trials are proposed by optuna's tree-structured Parzen estimator for several goals; the first is the regime's
    own defaults. One seed trains every trial, so differences smaller than those between seeds mean nothing: train
    the chosen setting under several.
    """
    optuna = _optuna()
    name, rule, tried = _regime(regime, space)
    X = X if hasattr(X, "iloc") else as_frame(X)
    parts = {"schema": schema, "model": model, "method": method, "scaling": scaling}
    bench = Bench.of(X, y, validation_size, people, favourable, random_state, **parts)
    asked = _asked(bench, name, rule, tried, validation_size, prune)
    goals = ("maximize", "minimize", "minimize")

    kept = _open(optuna, study, goals)
    done = _prepare(optuna, kept, asked, rule, tried)
    # A study that goes on must not draw the same again.
    kept.sampler = optuna.samplers.TPESampler(
        seed=random_state + done, n_startup_trials=min(10, max(1, n_trials // 3))
    )

    def objective(trial: Any) -> tuple[float, float, float]:
        chosen = fresh(rule).set_params(**{key: _suggest(trial, key, what) for key, what in tried.items()})
        try:
            return _tried(optuna, kept, trial, bench, chosen, prune, min_found)
        except HoldtrueError as error:
            trial.set_user_attr("error", str(error))
            raise

    def tell(study: Any, trial: object) -> None:
        if on_trial is not None:
            on_trial(sum(_counts(optuna, t) for t in study.trials))

    if done < n_trials:
        kept.optimize(
            objective, n_trials=n_trials - done, timeout=seconds, callbacks=[tell], catch=(HoldtrueError,)
        )
    return Tuning(name, tuple(_read(t) for t in kept.trials if _counts(optuna, t)), asked, min_found, slack)


def as_frame(X: TableLike) -> NativeFrame:
    """A pandas table of anything that is one."""
    import pandas as pd

    return pd.DataFrame(as_table(X, where="tune").columns)


def _optuna() -> Any:
    return need("optuna", extra="tune", what="tune:")


def _regime(regime: str | AbstractRegime, space: Space | None) -> tuple[str, AbstractRegime, Space]:
    rule = made(AbstractRegime, regime)
    name = next((key for key, cls in REGIMES.items() if type(rule) is cls), None)
    if name is None:
        raise DataError(f"tune: {type(rule).__name__} is not registered. Call holdtrue.training.register first.")
    tried = dict(rule.search_space) if space is None else dict(space)
    known = sorted(rule.get_params())
    for key in tried:
        if key not in known:
            raise DataError(
                f"tune: `space` names no parameter of {type(rule).__name__}; got {key!r}. "
                f"{did_you_mean(key, known)}"
            )
    if not tried:
        raise DataError(
            f"tune: there is nothing to try; {type(rule).__name__} declares no search space. Give `space`."
        )
    return name, rule, tried


def _asked(bench: Bench, name: str, rule: AbstractRegime, tried: Space, size: float, prune: bool) -> JsonObject:
    """What must be equal for a study to go on."""
    digest = hashlib.sha256()
    for column, values in as_table(bench.X).columns.items():
        digest.update(f"{column}\0".encode() + "\0".join(map(str, values.tolist())).encode())
    digest.update("\0".join(map(str, bench.y.tolist())).encode())
    fixed = {key: value for key, value in rule.get_params(deep=False).items() if key not in tried}
    told = {
        "regime": name,
        "fixed": describe(fixed),
        "space": {key: what.to_dict() for key, what in tried.items()},
        **{key: describe(part) for key, part in bench.parts.items()},
        "favourable": describe(bench.favourable),
        "rows": {
            "sha256": digest.hexdigest(), "train": len(bench.train), "validation": len(bench.held),
            "asked": len(bench.asked), "validation_size": size,
        },
        "prune": prune,
        "seed": bench.seed,
    }  # fmt: skip
    return json.loads(json.dumps(told, default=str))


def _open(optuna: ModuleType, study: str | Path | None, goals: Sequence[str]) -> Any:
    storage = None if study is None else f"sqlite:///{Path(study).resolve()}"
    if study is not None and not Path(study).resolve().parent.is_dir():
        raise DataError(f"tune: the folder of the study is not there; got {str(study)!r}. Make it first.")
    from sqlalchemy.exc import DatabaseError

    try:
        return optuna.create_study(storage=storage, study_name=NAME, directions=list(goals), load_if_exists=True)
    except (DatabaseError, RuntimeError, optuna.exceptions.StorageInternalError) as error:
        raise DataError(
            f"tune: the study cannot be read; got {str(study)!r} ({type(error).__name__}). Give another file."
        ) from error


def _prepare(optuna: ModuleType, study: Any, asked: Keywords, rule: AbstractRegime, tried: Space) -> int:
    """Hold the study against what is asked, put back what was cut short, and count what is done."""
    states = optuna.trial.TrialState
    stored = study.user_attrs.get("asked")
    if stored is None:
        study.set_user_attr("asked", asked)
        own = rule.get_params()
        # What is off by default (None) is no number to begin with: the first trial draws one.
        told = {key: what for key, what in tried.items() if isinstance(what, OneOf) or own[key] is not None}
        study.enqueue_trial({key: _inside(own[key], what) for key, what in told.items()})
        return 0
    changed = [key for key in asked if stored.get(key) != asked[key]]
    if changed:
        raise DataError(
            f"tune: the study was made with another {' and '.join(changed)}; got {_short(asked[changed[0]])} "
            f"after {_short(stored.get(changed[0]))}. Give the same, or another file."
        )
    for trial in study.get_trials(states=(states.RUNNING,)):
        study.tell(trial.number, state=states.FAIL)
        if trial.params:
            study.enqueue_trial(trial.params)
    return sum(_counts(optuna, trial) for trial in study.trials)


def _counts(optuna: ModuleType, trial: Any) -> bool:
    """Whether a trial came to an end: one that was cut short does not count."""
    states = optuna.trial.TrialState
    return trial.state in (states.COMPLETE, states.PRUNED) or "error" in trial.user_attrs


def _inside(value: Any, what: Range | OneOf) -> Any:
    """The nearest value that may be tried."""
    if isinstance(what, OneOf):
        return value if value in what.values else what.values[0]
    return min(max(value, what.low), what.high)


def _suggest(trial: Any, name: str, what: Range | OneOf) -> Any:
    if isinstance(what, OneOf):
        return trial.suggest_categorical(name, list(what.values))
    if what.whole:
        return trial.suggest_int(name, int(what.low), int(what.high), log=what.log)
    return trial.suggest_float(name, what.low, what.high, log=what.log)


def _tried(
    optuna: ModuleType, study: Any, trial: Any, bench: Bench, rule: AbstractRegime, prune: bool, min_found: float
) -> tuple[float, float, float]:
    began = time.monotonic()
    short = shortened(rule) if prune else None
    if short is not None:
        early = bench.measure(short)
        before = [
            t.user_attrs["early"] for t in study.trials if t.number < trial.number and "early" in t.user_attrs
        ]
        trial.set_user_attr("early", _worth(early))
        if hopeless(_worth(early), before):
            trial.set_user_attr("seconds", time.monotonic() - began)
            raise optuna.TrialPruned
    measured = bench.measure(rule)
    trial.set_constraint("found", min_found - measured.found)
    for name, value in (("found", measured.found), ("n_asked", measured.n_asked)):
        trial.set_user_attr(name, value)
    trial.set_user_attr("seconds", time.monotonic() - began)
    if measured.cost is None or measured.implausibility is None:
        raise optuna.TrialPruned  # nobody has recourse, so there is nothing to weigh
    return measured.accuracy, measured.implausibility, measured.cost


def shortened(rule: AbstractRegime) -> AbstractRegime | None:
    """The regime with a quarter of its training; None where that is hardly less, or cannot be said."""
    counts = {
        name: value // EARLY
        for name, value in rule.get_params().items()
        if name.rpartition("__")[2] in ("n_epochs", "min_updates") and value >= 2 * EARLY
    }
    return fresh(rule).set_params(**counts) if counts else None


def _worth(measured: Measured) -> list[float | None]:
    """The goals as numbers of which more is better; None where there is nobody to measure on."""
    return [measured.accuracy, *(None if v is None else -v for v in (measured.implausibility, measured.cost))]


def hopeless(mine: Sequence[float | None], before: Sequence[Sequence[float | None]]) -> bool:
    """Whether every goal is worse than the median of the trials before, of which there are a few."""
    if len(before) < WARM:
        return False
    worst = -np.inf
    table = np.array([[worst if v is None else v for v in row] for row in before])
    own = np.array([worst if v is None else v for v in mine])
    return bool((own < np.median(table, axis=0)).all())


def _read(trial: Any) -> Trial:
    told: Mapping[str, Any] = trial.user_attrs
    values = trial.values if trial.state.name == "COMPLETE" else None
    state = "done" if values is not None else "pruned" if trial.state.name == "PRUNED" else "failed"
    accuracy, far, cost = values if values is not None else (None, None, None)
    return Trial(
        trial.number, dict(trial.params), state, accuracy, far, cost, told.get("found"), told.get("n_asked", 0),
        round(told.get("seconds", 0.0), 2),
    )  # fmt: skip


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
