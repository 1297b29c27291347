"""What methods share that search the leaves of a tree ensemble, or the layers of a network."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.batch import map_rows
from holdtrue.encoding import norm_weights
from holdtrue.methods._base import AbstractMethod
from holdtrue.models import AbstractTrees, batch_logits
from holdtrue.search import Problems, Solutions, Status
from holdtrue.search.exact import Ensemble, Walks, cheapest_in_layers, cheapest_in_trees

Method = TypeVar("Method", bound=AbstractMethod)
LAID_OUT = "_ensemble"
WALKED = "_walks"


def search_leaves(
    method: AbstractMethod,
    problems: Problems,
    n_boxes: int,
    deadline: float | None,
    on_rows: Callable[[int], None] | None,
    seconds: float | None = None,
    proofs: dict[int, list[JsonObject]] | None = None,
) -> Solutions:
    """Answer people whom the model refuses from the leaves of its trees; the others need nothing.

    Nobody is searched for longer than `n_boxes` boxes, nor, where they are given, than so many `seconds`. `proofs`
    gets the boxes of everyone who was refused, in their order.
    """
    predictor = method.predictor_

    def cheapest(refused: Problems) -> Solutions:
        return cheapest_in_trees(
            predictor.decision,
            ensemble_of(method),
            refused,
            norm_weights(predictor.encoder, method.norm),
            method.norm,
            max_changes=getattr(method, "max_changes", None) or predictor.encoder.n_columns,
            n_boxes=n_boxes,
            seconds=seconds,
            deadline=deadline,
            on_rows=on_rows,
            proofs=proofs,
        )

    return of_the_refused(method, problems, cheapest, on_rows)


def search_layers(
    method: AbstractMethod,
    problems: Problems,
    deadline: float | None,
    on_rows: Callable[[int], None] | None,
    seconds: float,
) -> Solutions:
    """Answer people whom a linear model or a network refuses; the others need nothing."""
    predictor = method.predictor_

    def cheapest(refused: Problems) -> Solutions:
        return cheapest_in_layers(
            predictor.decision,
            refused,
            norm_weights(predictor.encoder, method.norm),
            method.norm,
            max_changes=getattr(method, "max_changes", None),
            seconds=seconds,
            deadline=deadline,
            on_rows=on_rows,
        )

    return of_the_refused(method, problems, cheapest, on_rows)


def of_the_refused(
    method: AbstractMethod,
    problems: Problems,
    search: Callable[[Problems], Solutions],
    on_rows: Callable[[int], None] | None,
) -> Solutions:
    """Everybody's answer, where a search has those of the people whom the model refuses."""
    predictor = method.predictor_
    favourable = problems.favourable
    if favourable is None:
        logits = map_rows(functools.partial(batch_logits, predictor.decision.model.alone), problems.x)
        favourable = predictor.decide_of(logits) == problems.target
    refused = np.flatnonzero(~favourable)
    out = replace(Solutions.unreached(problems), bound=np.zeros(len(problems)))
    out.status[:], out.cost[:] = int(Status.ALREADY_FAVOURABLE), 0.0
    if on_rows is not None and len(refused) < len(problems):
        on_rows(len(problems) - len(refused))
    if len(refused):
        found = search(problems.take(refused))
        for part, own in zip(_parts(out), _parts(found), strict=False):
            part[refused] = own
        out = out if found.bound is not None else replace(out, bound=None)
    return out


def ensemble_of(method: AbstractMethod) -> Ensemble:
    """The leaves, laid out once for the same trees: another threshold leaves them as they are."""
    trees = method.predictor_.decision.model
    assert isinstance(trees, AbstractTrees)
    known: Ensemble | None = getattr(method, LAID_OUT, None)
    if known is None or not known.trees.same_leaves(trees):
        known = Ensemble.of(trees)
        setattr(method, LAID_OUT, known)
    return known


def walks_of(method: AbstractMethod) -> Walks | None:
    """The trees inside a composed model, laid out once; None where there are none."""
    model = method.predictor_.decision.model
    known: tuple[object, Walks | None] | None = getattr(method, WALKED, None)
    if known is None or known[0] is not model:
        known = model, Walks.of(model)
        setattr(method, WALKED, known)
    return known[1]


def with_leaves_of(method: Method, other: AbstractMethod) -> Method:
    """A method that knows the leaves that another has laid out."""
    for name in (LAID_OUT, WALKED):
        if hasattr(other, name):
            setattr(method, name, getattr(other, name))
    return method


def _parts(found: Solutions) -> tuple[np.ndarray, ...]:
    parts = found.x, found.status, found.cost, found.n_steps
    return parts if found.bound is None else (*parts, found.bound)
