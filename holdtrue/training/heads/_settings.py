"""What a recourse head is trained for: the numbers that all regimes with a head share."""

from typing import ClassVar

import jax.numpy as jnp

from holdtrue.errors import DataError
from holdtrue.parameters import AbstractConfigured, NonNegative, ProperShare, Share, Whole, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._space import Range, Space
from holdtrue.training.heads._generator import Cost, GeneratorStep, Loss, Wanted
from holdtrue.training.heads._panels import OwnPanel


@configured
class HeadSettings(AbstractConfigured):
    """What predictor and generator of a model with a recourse head are trained for: losses, weights, and whom.

    The parameter `head` of `CounterNetTraining`, `RoCourseNet`, `CFModel` and `VAECF`. How long and in what steps
    they learn is said by the regime.

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

    References
    ----------
    [1] Guo, Nguyen, Yadav (2023), *CounterNet: end-to-end training of prediction aware counterfactual
        explanations*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.CounterNetTraining(head=ht.HeadSettings(margin=2.0)).set_params(head__rare=0.003)
    CounterNetTraining(head=HeadSettings(margin=2.0, rare=0.003))
    """

    search_space: ClassVar[Space] = {
        "validity_weight": Range(0.1, 3.0, log=True),
        "cost_weight": Range(0.01, 1.0, log=True),
    }
    """What `holdtrue.tune` tries of a regime's head, by parameter."""

    prediction_weight: NonNegative = 1.0
    validity_weight: NonNegative = 1.0
    cost_weight: NonNegative = 0.1
    loss: Loss = "cross_entropy"
    cost: Cost = "l1"
    margin: NonNegative = 1.0
    wanted: Wanted = "other"
    balance: bool = True
    harden: bool = True
    guard: Share = 0.3
    average: Share = 0.0
    hide: ProperShare = 0.0
    rare: ProperShare = 0.0
    proposals: Whole = 0
    strange_weight: NonNegative = 0.0

    def step(
        self,
        context: TrainingContext,
        *,
        step_size: float,
        weight_decay: float,
        n_epochs: int,
        n_first: int | None = None,
        charge_weight: float = 0.0,
    ) -> GeneratorStep:
        """Return the step of predictor and generator, by Adam; recourse is judged by the model as it is.

        `n_first` and `charge_weight` are those of `GeneratorStep`.
        """
        self.check_parameters()
        f32 = jnp.float32
        return GeneratorStep(
            step_size=jnp.asarray(step_size, f32),
            weight_decay=jnp.asarray(weight_decay, f32),
            prediction_weight=jnp.asarray(self.prediction_weight, f32),
            validity_weight=jnp.asarray(self.validity_weight, f32),
            own_weight=jnp.asarray(0.0, f32),
            cost_weight=jnp.asarray(self.cost_weight, f32),
            charge_weight=jnp.asarray(charge_weight, f32),
            margin=jnp.asarray(self.margin, f32),
            guard=jnp.asarray(self.guard, f32),
            average=jnp.asarray(self.average, f32),
            hide=jnp.asarray(self.hide, f32) if self.hide else None,
            rare=jnp.asarray(self.rare, f32) if self.rare else None,
            proposals=int(self.proposals),
            strange_weight=jnp.asarray(self.strange_weight, f32) if self.strange_weight else None,
            goal=None,
            n_epochs=jnp.asarray(n_epochs, f32),
            n_first=n_first,
            panel=OwnPanel(),
            context=context,
            loss=self.loss,
            cost=self.cost,
            wanted=self.wanted,
            balance=bool(self.balance),
            harden=bool(self.harden),
        )


def as_head(given: object, where: str) -> HeadSettings:
    """The settings that were given for a head; the defaults where it was left out."""
    if given is None:
        return HeadSettings()
    if not isinstance(given, HeadSettings):
        raise DataError(f"{where}: `head` must be HeadSettings, or None for the defaults; got {given!r}.")
    return given
