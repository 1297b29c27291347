"""What else a classifier could have been learned by: other models, other regimes, other parameters of theirs."""

from collections.abc import Mapping
from typing import Any

from holdtrue._types import Keywords
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import ARCHITECTURES, AbstractArchitecture
from holdtrue.schema import Schema, did_you_mean, shown
from holdtrue.training import REGIMES, AbstractRegime

PARTS = ("model", "regime")
WAYS = "an unfitted RecourseClassifier, a model or a regime or the name of one, or a dict of their parameters"


def with_recipe(unfitted: Any, recipe: Any) -> Any:
    """An unfitted classifier with its model and regime as another recipe has them.

    Parameters
    ----------
    unfitted : RecourseClassifier
        Which is changed.
    recipe : RecourseClassifier, AbstractArchitecture, AbstractRegime, str, or mapping
    """
    if isinstance(recipe, type(unfitted)):
        _same_rows(unfitted, recipe)
        return unfitted.set_params(model=recipe.model, regime=recipe.regime)
    if isinstance(recipe, Mapping):
        return _with_parameters(unfitted, recipe)
    if isinstance(recipe, str):
        return unfitted.set_params(**{_part_named(recipe): recipe})
    if isinstance(recipe, AbstractArchitecture):
        return unfitted.set_params(model=recipe)
    if isinstance(recipe, AbstractRegime):
        return unfitted.set_params(regime=recipe)
    raise CapabilityError(
        f"retrain: `alike` of a {type(unfitted).__name__} are other recipes of holdtrue's own models; got "
        f"{shown(recipe)}. Give {WAYS}."
    )


def _same_rows(own: Any, other: Any) -> None:
    """Refuse another reading of the rows: one encoder holds for all."""
    if other.scaling != own.scaling:
        raise DataError(
            f"retrain: a recipe of `alike` has another `scaling`; got {other.scaling!r} beside {own.scaling!r}. "
            "All see rows as the classifier does."
        )
    mine, others = (of.schema if isinstance(of.schema, Schema) else None for of in (own, other))
    if mine is not None and others is not None and mine.digest() != others.digest():
        raise DataError(
            "retrain: a recipe of `alike` has another schema than the classifier. Leave its `schema` out: all see "
            "rows as the classifier does."
        )


def _with_parameters(unfitted: Any, given: Mapping[str, Any]) -> Any:
    odd = [name for name in given if str(name).partition("__")[0] not in PARTS]
    if odd:
        raise DataError(
            f"retrain: a recipe of `alike` says how a model is learned; got {odd[0]!r}. Set `model`, `regime`, or "
            "parameters of theirs such as model__widths or regime__n_epochs."
        )
    whole: Keywords = {name: value for name, value in given.items() if name in PARTS}
    inner: Keywords = {name: value for name, value in given.items() if name not in PARTS}
    out = unfitted.set_params(**whole)
    # A default has no parameters to set until it is there.
    if out.model is None and any(name.startswith("model__") for name in inner):
        out.set_params(model=out.configured_regime().default_model())
    if out.regime is None and any(name.startswith("regime__") for name in inner):
        out.set_params(regime=out.configured_regime())
    return out.set_params(**inner)


def _part_named(name: str) -> str:
    if name in ARCHITECTURES:
        return "model"
    if name in REGIMES:
        return "regime"
    hint = did_you_mean(name, [*ARCHITECTURES, *REGIMES])
    raise DataError(f"retrain: a recipe of `alike` is not known; got {name!r}. {hint}")
