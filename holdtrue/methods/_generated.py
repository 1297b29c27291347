"""Recourse from a model that was trained to write it."""

import time
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractMethod
from holdtrue.parameters import configured
from holdtrue.search import GeneratorSolver, Problems, Solutions

SIZES = (256, 4096)  # people asked about at once; fixed, so that nothing compiles again


@configured
class Generated(AbstractMethod):
    """What the model's own generator writes, in one pass, hardened and checked.

    The model must have a recourse head (`CounterNet`) and a regime that trained it. A person costs one pass of a
    small network. There is no search: where the model does not accept what its generator wrote, nothing was found,
    and another method has to help.

    Parameters
    ----------
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance in which the cost is told; the generator was trained on its own.
    random_state : int, optional
        Unused: the pass is deterministic.

    Notes
    -----
    Needs a model with a generator. Restrictions of single people hold by construction, like all limits; the
    generator was not trained on them.

    References
    ----------
    [1] Guo, Nguyen, Yadav (2023), *CounterNet: end-to-end training of prediction aware counterfactual
        explanations*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("breast_cancer")
    >>> regime = ht.CounterNetTraining(n_epochs=40, min_updates=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, regime=regime, random_state=0).fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:20])
    >>> bool(plan.valid.mean() > 0.9)
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})

    norm: Norm = "l1"
    random_state: int | None = None

    def solver(self) -> GeneratorSolver:
        """Return the one step."""
        return GeneratorSolver(
            decision=self.predictor_.decision,
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(1),
            norm=self.norm,
        )

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """One pass for everybody, some thousand people at a time."""
        solver, n = self.solver(), len(problems)
        size = next((size for size in SIZES if n <= size), SIZES[-1])
        parts = []
        for start in range(0, n, size):
            rows = np.arange(start, min(n, start + size))
            padded = np.concatenate([rows, np.repeat(rows[:1], size - len(rows))])
            if deadline is not None and time.monotonic() >= deadline:
                parts.append(Solutions.unreached(problems.take(rows)))
                continue
            answer = Solutions(*map(np.asarray, _pass(solver, problems.take(padded))))
            parts.append(answer.take(np.arange(len(rows))))
            if on_rows is not None:
                on_rows(len(rows))
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@eqx.filter_jit
def _pass(solver: GeneratorSolver, problems: Problems) -> tuple[jax.Array, ...]:
    """Everyone's answer, in the order of `Solutions`."""
    return problems.each(lambda p: solver.finish(p, solver.advance(p, solver.begin(p))).parts)
