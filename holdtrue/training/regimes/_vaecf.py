"""A variational generator of recourse for a predictor that is trained first and left as it is."""

from typing import ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import NonNegative, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime


@configured
class VAECF(AbstractGeneratorRegime):
    """A variational autoencoder that writes recourse for a finished model (Mahajan et al., 2019).

    The predictor is trained first. The generator codes the row and the wanted class, decodes a drawn code, and
    learns on validity, distance and the code's divergence from its prior. Recourse comes near the rows that
    were seen, and costs more than that of `CFModel`.

    Parameters
    ----------
    code_weight : float, default=0.01
        Weight of the divergence of codes from their prior.

    Notes
    -----
    Needs a model with a generator; ``CounterNet(head="vae", generator=(20, 16))`` when none is given. The cost is
    what makes the decoder give the row back. Differs from the published code in: layers; one drawn code per row
    and update; categories by a softmax in place of a penalty.

    References
    ----------
    [1] Mahajan, Tan, Sharma (2019), *Preserving causal constraints in counterfactual explanations for machine
        learning classifiers*.

    Examples
    --------
    >>> VAECF(n_epochs=5).code_weight
    0.01
    """

    post_hoc: ClassVar[bool] = True

    code_weight: NonNegative = 0.01

    def default_model(self) -> CounterNet:
        """Return a CounterNet with a variational generator."""
        return CounterNet(head="vae", generator=(20, 16), dropout=0.0)

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor first, then the autoencoder."""
        return self.unattacked(context, charge_weight=self.code_weight)
