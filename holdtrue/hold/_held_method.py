"""Which method a classifier asks: its own, or another inside its guides and judges."""

from holdtrue.errors import CapabilityError
from holdtrue.hold._holding import Hold, Holding
from holdtrue.methods import AbstractMethod


def held_method(method: AbstractMethod, holder: AbstractMethod, hold: Hold, *, own: bool) -> AbstractMethod:
    """The method that a classifier is to ask.

    Parameters
    ----------
    method : AbstractMethod
        Fitted to the classifier.
    holder : AbstractMethod
        The classifier's own method; `Holding` where it has guides and judges.
    hold : float, Level, None or "as fitted"
    own : bool
        Whether the first is the classifier's own, and not another that was asked for.
    """
    if isinstance(method, Holding):
        return method.at(hold)
    if not isinstance(holder, Holding):
        if isinstance(hold, str) or hold is None:
            return method
        raise CapabilityError(
            f"recourse: hold={hold!r} needs guides, and the classifier has none; it was fitted with hold=None. "
            "Fit it with a hold, or use holdtrue.Holding."
        )
    asked = None if isinstance(hold, str) and not own else hold
    return holder.around(method).at(asked)
