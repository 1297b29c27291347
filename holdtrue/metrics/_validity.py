"""Who has recourse, and whether it works."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import DataError
from holdtrue.search import Status, is_found


def validity(valid: ArrayLike, found: ArrayLike) -> float:
    """Share of the recourse found that the model accepts; NaN where none was found.

    Parameters
    ----------
    valid : array of bool
        Whether the model, asked about the decoded row, takes the wanted decision.
    found : array of bool
        Who was given a recourse.

    Notes
    -----
    Papers that divide by everyone who asked report what `share_with_recourse` calls the share of the refused.

    Examples
    --------
    >>> validity([True, False, True, False], [True, True, False, False])
    0.5
    """
    valid, found = np.asarray(valid, bool), np.asarray(found, bool)
    _same_length("validity", valid=valid, found=found)
    return _share(valid & found, found)


class Shares(NamedTuple):
    """Share with recourse: `among_refused` is NaN where nobody is refused, `among_all` where there is nobody."""

    among_refused: float
    among_all: float


def share_with_recourse(
    status: ArrayLike, *, refused: ArrayLike | None = None, valid: ArrayLike | None = None
) -> Shares:
    """Share of people with recourse, among the refused and among all.

    Among all, a person whose decision is already the wanted one counts as having it.

    Parameters
    ----------
    status : array of int
        A `Status` per person.
    refused : array of bool, optional
        Whom the model refuses; everyone not ALREADY_FAVOURABLE when omitted. Ask the model instead of omitting it
        where a deadline cut a search short: someone NOT_REACHED may not need recourse.
    valid : array of bool, optional
        Whose recourse the model accepts. A recourse found that is not valid does not count. All when omitted.

    Examples
    --------
    >>> share_with_recourse([Status.FOUND, Status.INFEASIBLE, Status.NOT_FOUND, Status.ALREADY_FAVOURABLE])
    Shares(among_refused=0.3333333333333333, among_all=0.5)
    """
    status = np.asarray(status)
    no = status != int(Status.ALREADY_FAVOURABLE) if refused is None else np.asarray(refused, bool)
    ok = np.ones(status.shape, bool) if valid is None else np.asarray(valid, bool)
    _same_length("share_with_recourse", status=status, refused=no, valid=ok)
    has = is_found(status) & ok & no
    return Shares(_share(has, no), _share(has | ~no, np.ones(no.shape, bool)))


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else float("nan")


def _same_length(where: str, **arrays: np.ndarray) -> None:
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise DataError(f"{where}: the arrays must hold one value per person; got shapes {shapes!r}.")
