"""Every subset's model, for every seed, in one compiled program."""

from collections.abc import Sequence

import equinox as eqx
import jax

from experiments.rocoursenet._data import Tasks, alike
from holdtrue.encoding import Permits
from holdtrue.models import AbstractArchitecture, AbstractModel, Data, Strategy, fit_many
from holdtrue.retraining import start_keys
from holdtrue.training import AbstractRegime, StandardTraining, TrainingContext


def fit_all(
    tasks: Tasks,
    architecture: AbstractArchitecture,
    regimes: AbstractRegime | Sequence[AbstractRegime],
    seeds: Sequence[int],
    *,
    starts: Sequence[Sequence[AbstractModel]] | None = None,
    rows: Sequence[Data] | None = None,
    strategy: Strategy = "auto",
) -> list[list[AbstractModel]]:
    """Train one model per subset and seed; a list per seed, or per regime and seed.

    Parameters
    ----------
    regimes : AbstractRegime or sequence of it
        Several may differ in their numbers only: then one compilation serves all of them.
    starts : optional
        Models to start from, a list per seed; freshly built ones when omitted.
    rows : optional
        What every subset's model learns from, where the subsets are some of those that were made alike.
    """
    several = [regimes] if isinstance(regimes, AbstractRegime) else list(regimes)
    d, rows = tasks[0].encoder.n_columns, alike(tasks) if rows is None else rows
    n = len(rows[0].y)
    context = TrainingContext(Permits.of(tasks[0].encoder), 1, n_rows=n)
    if starts is None:
        built = {seed: architecture.build(d, 2, start_keys(seed)[0]) for seed in seeds}
        starts = [[built[seed]] * len(rows) for seed in seeds]
    jobs = [(r, s, i) for r in range(len(several)) for s in range(len(seeds)) for i in range(len(rows))]
    steps = [regime.step(context) for regime in several]
    models = fit_many(
        [starts[s][i] for _, s, i in jobs],
        [steps[r] for r, _, _ in jobs],
        [rows[i] for _, _, i in jobs],
        [start_keys(seeds[s])[1] for _, s, _ in jobs],
        n_epochs=several[0].epochs(n),
        batch_size=several[0].batch_size,
        strategy=strategy,
    )
    jax.block_until_ready(jax.tree.leaves(eqx.filter(models, eqx.is_array)))
    k = len(rows)
    return [models[i : i + k] for i in range(0, len(models), k)]


def plain(tasks: Tasks, n_updates: int, batch_size: int) -> StandardTraining:
    """The base models' training, with as many updates as the others have."""
    longest = max(len(s.learned.y) for s in tasks)
    per_epoch = -(-longest // min(batch_size, longest))
    return StandardTraining(n_epochs=-(-n_updates // per_epoch), batch_size=batch_size, step_size=0.003)
