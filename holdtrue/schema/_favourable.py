"""Which class people want: taken where it is plain, asked for where it is not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdtrue._types import Label
from holdtrue.errors import DataError
from holdtrue.schema._checks import plain, shown
from holdtrue.schema._lexicon import BAD_OUTCOMES, GOOD_OUTCOMES, NEGATIONS, has_word, words_of

LAST = "(last)"
"""Given as `favourable`: the last of the sorted classes, for labels of which none is better than another."""
_YES = ("yes", "y", "true", "t", "ja", "oui", "si", "sí", "sim")
_NO = ("no", "n", "false", "f", "nein", "non", "não", "nao")
_MOST_SHOWN = 8


def favourable_of(
    labels: ArrayLike,
    given: Label | None = None,
    *,
    name: object = None,
    where: str = "favourable",
    write: str = "favourable=LABEL",
) -> Label:
    """The class that people want: the given one, or the one that plainly is; else an error that asks.

    Plain are labels 0 and 1 (-1 and 1, false and true, no and yes), unless the column's name says that 1 is bad
    news (``deny``, ``default``, ``churn``); and labels of which exactly one has a word for a good outcome
    (``approved``, ``good``, ``paid``).

    Parameters
    ----------
    labels : array
        What became of people, a label each; or the classes alone.
    given : label, optional
        What the user says. ``"(last)"`` is the last of the sorted classes.
    name : str, optional
        The column's name. Without one, ``no`` and ``yes`` are not plain.
    where, write : str
        Who asks, and how the answer is written, for the error.

    Examples
    --------
    >>> favourable_of(["approved", "denied"])
    'approved'
    >>> int(favourable_of([0, 1, 1, 0]))
    1
    """
    classes = _classes(labels)[0]
    if isinstance(given, str) and given == LAST and LAST not in classes:
        return classes[-1]
    if given is not None:
        if given not in classes:
            raise DataError(f"{where}: `favourable` is not a class; got {given!r}. Classes are {shown(classes)}.")
        return classes[classes.index(given)]
    found = plainly_wanted(classes, name)
    if found is None:
        raise DataError(f"{where}: {question(labels, name)} Write {write}.")
    return found


def question(labels: ArrayLike, name: object = None) -> str:
    """What is asked where the wanted class is not plain: the classes with their shares."""
    classes, counts = _classes(labels)
    shares = ""
    if counts.sum() > len(classes):
        shown_ = [f"{c!r} {n / counts.sum():.0%}" for c, n in zip(classes, counts.tolist(), strict=True)]
        shares = ", ".join(shown_[:_MOST_SHOWN]) + (", ..." if len(shown_) > _MOST_SHOWN else "")
    column = f" of {name!r}" if isinstance(name, str) else ""
    return f"which class{column} people want is not plain; got {shares or shown(classes)}."


def plainly_wanted(classes: Sequence[Any], name: object = None) -> Label | None:
    """The class that people want where the labels say so; None where somebody must be asked."""
    title = words_of(name) if isinstance(name, str) else []
    good_title, bad_title = has_word(title, GOOD_OUTCOMES), has_word(title, BAD_OUTCOMES)
    turned = any(word in NEGATIONS for word in title)
    numbers = [c for c in classes if isinstance(c, (bool, int, float))]
    if len(classes) == 2 and len(numbers) == 2:
        low, high = sorted(classes, key=float)
        plain_pair = float(high) == 1.0 and float(low) in (0.0, -1.0)
        return high if plain_pair and not bad_title and not (good_title and turned) else None
    if len(numbers):
        return None
    texts = [str(c).strip().casefold() for c in classes]
    if len(classes) == 2 and any(t in _YES for t in texts) and any(t in _NO for t in texts):
        yes = next(c for c, t in zip(classes, texts, strict=True) if t in _YES)
        return yes if good_title and not bad_title and not turned else None
    good = [c for c in classes if _is_good(str(c))]
    return good[0] if len(good) == 1 else None


def _is_good(label: str) -> bool:
    words = words_of(label)
    good, bad = has_word(words, GOOD_OUTCOMES), has_word(words, BAD_OUTCOMES)
    turned = bool(set(words) & set(NEGATIONS))
    return (good and not bad and not turned) or (bad and not good and turned)


def _classes(labels: ArrayLike) -> tuple[list[Label], np.ndarray]:
    found, counts = np.unique(np.asarray(labels), return_counts=True)
    return [plain(label) for label in found.tolist()], counts
