"""Counterfactuals guided by prototypes: elastic-net search drawn towards people who got a yes."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from holdtrue.batch import Predictor
from holdtrue.methods._elastic_net import ElasticNorm, elastic_search
from holdtrue.methods._kept_rows import kept_rows, kept_rows_at
from holdtrue.methods._latent_base import AbstractGenerativeMethod
from holdtrue.models import Autoencoder, Rows, build_autoencoder
from holdtrue.parameters import Count, NonNegative, Positive, configured
from holdtrue.search import ElasticSolver, Prototype, PrototypePull


@configured
class CFProto(AbstractGenerativeMethod):
    """Small change that ends near people who got the wanted decision (Van Looveren and Klaise, 2019).

    Minimises ``c max(confidence - margin(x'), 0) + l1_weight |x'-x|_1 + l2_weight |x'-x|_2^2
    + prototype_weight |x' - prototype|_2^2``, where the prototype is the mean of the `n_neighbours` rows of the
    wanted decision that are nearest to the person. Good for recourse that resembles people who exist; with the
    default weight it goes nearly all the way to the prototype and costs accordingly. Lower `prototype_weight` to
    stay closer: at 0 it is `ElasticNet` with other weights.

    Parameters
    ----------
    prototype_weight : float, default=100.0
        Weight of the distance to the prototype (`theta`).
    n_neighbours : int, default=20
        Rows that make the prototype (`k`).
    prototype : {"mean", "last"}, default="mean"
        Their mean, or the farthest of them alone.
    autoencoder : bool, default=False
        Whether prototype and distance are among the codes of an autoencoder instead of the rows.
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance that counts as cost.
    l1_weight : float, default=0.1
        Weight of the l1 cost (`beta`).
    l2_weight : float, default=1.0
        Weight of the squared l2 cost.
    confidence : float, default=0.0
        Margin in logits up to which the loss pulls (`kappa`).
    first_weight : float, default=10.0
        The first `c`.
    n_rounds : int, default=10
        Values of `c` tried.
    n_steps : int, default=100
        Steps in a round.
    step_size : float, default=0.01
        Of the first step of a round; it falls with the root of the steps left.
    n_rows : int, default=2000
        Training rows kept, of the favourable decision and of the others; a random sample where there are more.
    random_state : int, optional
        Seed of the sample and of the autoencoder.

    Notes
    -----
    Needs a differentiable model and training rows. The nearest rows are found by comparing all that are kept,
    which gives what a k-d tree gives. The library the paper uses takes the last of the k rows where it has k-d
    trees, and the mean where it has an autoencoder; the method's own paper has one row or the mean.
    The valid point at which all but the loss is least is returned. Differs from that library as `ElasticNet`
    does; in that a step is shortened by the curvature of the prototype term, without which the default weight and
    step would swing about the prototype; and in having no reconstruction loss (weight 0 in the paper). Categories
    count by their one-hot columns.

    References
    ----------
    [1] *Consistent counterfactuals for deep models*, section 5.1 and B.3.
    [2] Van Looveren, Klaise (2019), *Interpretable counterfactual explanations guided by prototypes*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.CFProto(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid[plan.found].all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    prototype_weight: NonNegative = 100.0  # B.3
    n_neighbours: Count = 20  # B.3
    prototype: Prototype = "mean"
    autoencoder: bool = False
    norm: ElasticNorm = "l1"
    l1_weight: NonNegative = 0.1
    l2_weight: NonNegative = 1.0
    confidence: NonNegative = 0.0
    first_weight: Positive = 10.0
    n_rounds: Count = 10
    n_steps: Count = 100  # B.3
    step_size: Positive = 0.01
    n_rows: Count = 2000
    random_state: int | None = None

    def build(self, rows: Rows, key: PRNGKeyArray) -> Autoencoder:
        """Plain autoencoder."""
        return build_autoencoder(rows, self.widths, self.n_latent, (), key)

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Keep rows, and learn the autoencoder where one is wanted."""
        return kept_rows(self, x) | (super().learn(x, y) if self.autoencoder else {})

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """The rows, as they are decided at the other threshold."""
        return kept_rows_at(predictor, super().state_at(predictor))

    def solver(self) -> ElasticSolver:
        """Elastic-net search with a pull."""
        model = self.generator() if self.autoencoder else None
        rows = jnp.asarray(self.state_["rows"], jnp.float32)
        pull = PrototypePull(
            weight=jnp.asarray(self.prototype_weight, jnp.float32),
            points=rows if model is None else jax.vmap(model.encode)(rows),
            decided=jnp.asarray(self.state_["decided"]),
            model=model,
            n_neighbours=int(self.n_neighbours),
            prototype=self.prototype,
        )
        return elastic_search(self, self.l1_weight, self.l2_weight, self.step_size, pull=pull)
