"""Training a model with a recourse head: what all such regimes share, and CounterNet itself."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp

from holdtrue.models import CounterNet
from holdtrue.parameters import NonNegative, Positive, ProperShare, Share, Whole
from holdtrue.training._base import AbstractRegime, Setting
from holdtrue.training._space import STEP_SIZE, Range, Space
from holdtrue.training.heads._generator import Cost, GeneratorStep, Loss, Wanted
from holdtrue.training.heads._panels import OwnPanel


class AbstractGeneratorRegime(AbstractRegime):
    """A regime that trains a generator of recourse beside, or after, a predictor.

    All are one step (`GeneratorStep`) with these numbers, in which recourse is judged by the model as it is;
    `AbstractAttacked` has it judged by others.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})
    search_space: ClassVar[Space] = {
        "validity_weight": Range(0.1, 3.0, log=True),
        "cost_weight": Range(0.01, 1.0, log=True),
        "step_size": STEP_SIZE,
    }
    post_hoc: ClassVar[bool] = False
    """Whether the predictor is trained first, for as many epochs, and then left as it is."""

    prediction_weight: NonNegative
    validity_weight: NonNegative
    cost_weight: NonNegative
    loss: Loss
    cost: Cost
    margin: NonNegative
    wanted: Wanted
    balance: bool
    harden: bool
    guard: Share
    average: Share
    hide: ProperShare
    rare: ProperShare
    proposals: Whole
    strange_weight: NonNegative
    min_updates: Whole
    step_size: Positive
    weight_decay: NonNegative

    def default_model(self) -> CounterNet:
        """Return a CounterNet."""
        return CounterNet()

    def epochs(self, n_rows: int | None) -> int:
        """Passes over the rows: at least so many as make `min_updates`, and twice that with two stages."""
        self.check_parameters()
        n_epochs = self.n_epochs
        if n_rows is not None:
            per_epoch = -(-n_rows // min(self.batch_size, n_rows))
            n_epochs = max(n_epochs, -(-self.min_updates // per_epoch))
        return 2 * n_epochs if self.post_hoc else n_epochs

    def step(self, setting: Setting) -> GeneratorStep:
        """Predictor and generator, by Adam."""
        self.check_parameters()
        n_epochs, f32 = self.epochs(setting.n_rows), jnp.float32
        return GeneratorStep(
            step_size=jnp.asarray(self.step_size, f32),
            weight_decay=jnp.asarray(self.weight_decay, f32),
            prediction_weight=jnp.asarray(self.prediction_weight, f32),
            validity_weight=jnp.asarray(self.validity_weight, f32),
            own_weight=jnp.asarray(0.0, f32),
            cost_weight=jnp.asarray(self.cost_weight, f32),
            charge_weight=jnp.asarray(getattr(self, "code_weight", 0.0), f32),
            margin=jnp.asarray(self.margin, f32),
            guard=jnp.asarray(self.guard, f32),
            average=jnp.asarray(self.average, f32),
            hide=jnp.asarray(self.hide, f32) if self.hide else None,
            rare=jnp.asarray(self.rare, f32) if self.rare else None,
            proposals=int(self.proposals),
            strange_weight=jnp.asarray(self.strange_weight, f32) if self.strange_weight else None,
            goal=None,
            n_epochs=jnp.asarray(n_epochs, f32),
            n_first=n_epochs // 2 if self.post_hoc else None,
            panel=OwnPanel(),
            setting=setting,
            loss=self.loss,
            cost=self.cost,
            wanted=self.wanted,
            balance=bool(self.balance),
            harden=bool(self.harden),
        )


class CounterNetTraining(AbstractGeneratorRegime):
    """Train a classifier and its recourse together (Guo et al., 2023).

    Every minibatch moves the predictor on its loss, then the generator alone on ``validity_weight * L(f(x'),
    wanted) + cost_weight * cost(x, x')`` for generated `x'`. The predictor is what it would be without a
    generator; recourse then costs one pass of a network. It is as good as what the model says today:
    `RoCourseNet` trains it for models to come.

    Parameters
    ----------
    prediction_weight, validity_weight, cost_weight : float, default=1.0, 1.0, 0.1
        Of the three losses (lambda 1, 2 and 3; the paper prints 1, 0.2, 0.1 for its squared losses). Only the
        ratio of the last two matters under Adam.
    loss : {"cross_entropy", "squared"}, default="cross_entropy"
        Of prediction and validity; ``squared``, of probabilities, is the paper's.
    cost : {"l1", "squared"}, default="l1"
        Sum of the columns' changes, by the schema's `cost_weight`; or half their mean square, as in the paper.
    margin : float, default=1.0
        Log-odds beyond the decision that recourse is to reach; the paper's is 0.
    wanted : {"other", "favourable"}, default="other"
        For whom recourse is learned: everybody, towards a class that is not decided for them, as in the paper; or
        those who are refused, towards the favourable class.
    balance : bool, default=True
        Whether people who want a class count equally much in total for every such class. Few are refused in many
        tables, and without this nothing is learned for them.
    harden : bool, default=True
        Whether recourse is judged as people would get it, one level per category and whole numbers whole, with the
        slopes of the relaxed row; False judges the relaxed row, as in the paper.
    guard : float, default=0.3
        While a class that is rarer than others is decided for less than this share of its true frequency, rarer
        classes weigh slowly more in the prediction loss, up to all equally much; and else slowly less. It keeps a
        rare class from vanishing from the decisions, where no recourse towards it would be valid. 0 is off.
    average : float, default=0.0
        The predictor is the running mean of its weights over this share of the updates so far, 0.1 for a tenth:
        it decides more steadily, and often more accurately, than the latest weights, which 0 takes.
    hide : float, default=0.0
        Share of people whose level of a category is hidden from the predictor in training, for each category: it
        then learns to decide by what is left too, and leans less on codes that may come to mean something else.
    rare : float, default=0.0
        Levels of a category that less than this share of people have are one to the predictor, that of having none
        of the others. What few people's outcomes say of a level is often chance, and recourse by it does not last.
        0 knows all levels.
    proposals : int, default=0
        Rows that are tried for each person and update beside the generator's own: its recourse with a feature or
        two as in the person's row, in somebody else's recourse, or in somebody else's row. The generator also
        learns to write the best of them where that has less loss than its own. Slopes alone do not find another
        level of a category that is better by far; each of 8 proposals costs about as much as one more judgement.
    strange_weight : float, default=0.0
        Weight of numbers that, taken together, hardly anybody has (`Tally.strangeness`), in the generator's loss.
        Beyond the data models say what they like, and agree least.
    min_updates : int, default=2000
        Updates at least: small tables get more epochs than `n_epochs`.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `StandardTraining`, with defaults 50, 128 and 0.003 for the first three. The decay is the
        predictor's. Early stopping watches the sum of all losses.

    Notes
    -----
    Needs a model with a generator; a classifier takes `CounterNet` when none is given, and `Generated` as its
    method. ``clf.history_.notes`` has for every epoch the share decided `favourable`, the `prediction_loss` and,
    of at most 512 of the refused, the `validity_loss`, `validity` and mean `cost` of hardened recourse and how
    many different `patterns` of it there are: a single one would be recourse that knows nobody.

    References
    ----------
    [1] Guo, Nguyen, Yadav (2023), *CounterNet: end-to-end training of prediction aware counterfactual
        explanations*.

    Examples
    --------
    >>> CounterNetTraining(n_epochs=50, batch_size=128).epochs(1000)
    250
    """

    def __init__(
        self,
        *,
        prediction_weight: float = 1.0,
        validity_weight: float = 1.0,
        cost_weight: float = 0.1,
        loss: Loss = "cross_entropy",
        cost: Cost = "l1",
        margin: float = 1.0,
        wanted: Wanted = "other",
        balance: bool = True,
        harden: bool = True,
        guard: float = 0.3,
        average: float = 0.0,
        hide: float = 0.0,
        rare: float = 0.0,
        proposals: int = 0,
        strange_weight: float = 0.0,
        min_updates: int = 2000,
        n_epochs: int = 50,
        batch_size: int = 128,
        step_size: float = 0.003,
        weight_decay: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        patience: int | None = None,
    ) -> None:
        self.prediction_weight = prediction_weight
        self.validity_weight = validity_weight
        self.cost_weight = cost_weight
        self.loss: Loss = loss
        self.cost: Cost = cost
        self.margin = margin
        self.wanted: Wanted = wanted
        self.balance = balance
        self.harden = harden
        self.guard = guard
        self.average = average
        self.hide = hide
        self.rare = rare
        self.proposals = proposals
        self.strange_weight = strange_weight
        self.min_updates = min_updates
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience
