"""Any regime with a recourse head, with an attacker."""

from collections.abc import Mapping
from typing import ClassVar

from holdtrue._registry import made
from holdtrue.errors import DataError
from holdtrue.models import CounterNet
from holdtrue.parameters import configured
from holdtrue.training._base import AbstractRegime, TrainingContext
from holdtrue.training._parts import MakePart
from holdtrue.training._space import Space
from holdtrue.training.heads._attacked import AbstractAttacked
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.regimes._counternet import CounterNetTraining


def _as_regime(given: object, where: str) -> AbstractGeneratorRegime:
    """The regime that was given; CounterNet's where none was."""
    regime = CounterNetTraining() if given is None else made(AbstractRegime, given, where)
    if not isinstance(regime, AbstractGeneratorRegime):
        raise DataError(
            f"{where}: `regime` must train a generator of recourse; got {type(regime).__name__}. Use "
            "CounterNetTraining, CFModel or VAECF."
        )
    return regime


LEARNING = ("n_epochs", "batch_size", "class_weight", "validation_fraction", "patience")


@configured
class Robust(AbstractAttacked):
    """Any regime that trains a generator of recourse, with an attacker (eq. 5).

    Takes the step of the regime it wraps and has recourse judged by the model that a shift of the data leads to.
    ``Robust(regime=CounterNetTraining())`` is `RoCourseNet`.

    Parameters
    ----------
    regime : AbstractGeneratorRegime or str, optional
        `CFModel()`, `VAECF()` or `CounterNetTraining()`, which is the default; its epochs, batches and head
        hold.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, section 5.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.Robust(regime=ht.VAECF(n_epochs=10), attacker="guides").set_params(attacker__tilt=4.0)
    Robust(attacker=Guides(tilt=4.0), regime=VAECF(n_epochs=10))
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})
    parts: ClassVar[Mapping[str, MakePart]] = {**AbstractAttacked.parts, "regime": _as_regime}

    regime: AbstractRegime | str | None = None

    @property
    def wrapped(self) -> AbstractGeneratorRegime:
        """The regime that is made robust."""
        return _as_regime(self.regime, "Robust")

    @property
    def search_space(self) -> Space:  # type: ignore[override]
        """What is tried is the attacker's."""
        return {f"attacker__{name}": what for name, what in self.attacked_by.search_space.items()}

    def __getattr__(self, name: str) -> object:
        """What the loop and retraining ask of a regime is the wrapped one's."""
        if name in LEARNING:
            return getattr(self.wrapped, name)
        raise AttributeError(f"Robust has no {name!r}")

    def default_model(self) -> CounterNet:
        """Return the wrapped regime's."""
        return self.wrapped.default_model()

    def epochs(self, n_rows: int | None) -> int:
        """As many as the wrapped regime's."""
        return self.wrapped.epochs(n_rows)

    def step(self, context: TrainingContext) -> GeneratorStep:
        """The wrapped regime's step, with an attacker."""
        return self.against(self.wrapped.step(context), context, self.wrapped)
