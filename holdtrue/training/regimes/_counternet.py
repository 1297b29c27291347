"""CounterNet: a classifier and its recourse, trained together."""

from holdtrue.models import CounterNet
from holdtrue.parameters import configured
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime


@configured
class CounterNetTraining(AbstractGeneratorRegime):
    """Train a classifier and its recourse together (Guo et al., 2023).

    Every minibatch moves the predictor on its loss, then the generator alone on ``validity_weight * L(f(x'),
    wanted) + cost_weight * cost(x, x')`` for generated `x'`. The predictor is what it would be without a
    generator; recourse then costs one pass of a network. It is as good as what the model says today:
    `RoCourseNet` trains it for models to come.

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

    def default_model(self) -> CounterNet:
        """Return a CounterNet."""
        return CounterNet()

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor and generator."""
        return self.unattacked(context)
