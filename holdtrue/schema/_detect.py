"""What a column of a stranger's table is, where it is not a feature: an identifier, a date, free text, a copy."""

import re
from collections.abc import Mapping

import numpy as np

from holdtrue.schema._columns import sorted_levels
from holdtrue.schema._feature import MISSING_LEVEL
from holdtrue.schema._lexicon import IDENTIFIER, PERSONAL_NAME, has_word, words_of
from holdtrue.schema._table import Table

MOST_LEVELS = 50  # texts beyond which a column is no choice that a person has
FEW_ROWS = 50  # with fewer, a share of rows says little
SAME = 0.02  # of the smaller classes' rows: a column that errs less gives the label away
_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|marz|janv|fev|avr|juin|juil|aout|ene|abr|ago|dic|"
    "set|out|gen|mag|giu|lug|ott"
)
_DATES = re.compile(
    r"""\s*(?:
        \d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T\ ]\d{1,2}:\d{2}.*)?      # 2015-03-01, with a time or without a day
      | \d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?:\ \d{1,2}:\d{2}.*)?    # 1.3.2015, 03/01/15
      | (?:\d{1,2}[-\ .])?(?:MONTH)[a-z]*[-\ .,]*(?:\d{1,2}[-\ .,]+)?(?:\d{4}|\d{2})  # Mar-2015, 1 March 2015
    )\s*""".replace("MONTH", _MONTHS),
    re.IGNORECASE | re.VERBOSE,
)


def is_identifier(name: str, present: np.ndarray, n_levels: int) -> str | None:
    """Why a column names single rows rather than tells something about people; None where it does not."""
    n = len(present)
    named = has_word(words_of(name), IDENTIFIER) or not words_of(name)
    if present.dtype == object:
        if has_word(words_of(name), PERSONAL_NAME):
            return "its name speaks of people's names"
        if n_levels > MOST_LEVELS and n_levels > 0.5 * n:
            return f"it has {n_levels:,} different texts in {n:,} rows"
        return "of its name" if named and n_levels > 0.5 * n and n_levels > 2 else None
    if present.dtype.kind not in "if" or not np.array_equal(present, np.round(present)):
        return None
    if named and n_levels > 0.5 * n and n_levels > 2:
        return "of its name, and it has another number in nearly every row"
    counted = n >= FEW_ROWS and n_levels == n and present.max() - present.min() == n - 1
    return "it counts the rows" if counted else None


def holds_text_dates(present: np.ndarray) -> bool:
    """Whether a column of texts, or of numbers such as 20150301, holds dates."""
    if present.dtype == object:
        sample = present[:: max(1, len(present) // 500)]
        return all(isinstance(v, str) for v in sample) and (
            sum(bool(_DATES.fullmatch(v)) for v in sample) >= 0.95 * len(sample)
        )
    if present.dtype.kind not in "if" or not np.array_equal(present, np.round(present)):
        return False
    if np.abs(present).max() > 21_001_231:
        return False
    year, month, day = present // 10_000, present // 100 % 100, present % 100
    return bool(
        ((year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all()
        and len(np.unique(present)) > 2
    )


def is_free_text(present: np.ndarray) -> bool:
    """Whether texts are sentences rather than the names of levels."""
    texts = [v for v in present[:500] if isinstance(v, str)]
    return bool(texts) and float(np.mean([len(v.split()) for v in texts])) >= 4


def gives_away(values: np.ndarray, absent: np.ndarray, labels: np.ndarray) -> str | None:
    """How a column tells the label nearly by itself: ``"copy"`` by a few values, ``"cut"`` by one cut of it."""
    codes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    others = len(labels) - counts.max()  # who is wrong if all are called the most frequent class
    if len(labels) < FEW_ROWS or others == 0:
        return None
    levels = sorted_levels(values[~absent])
    if len(levels) + bool(absent.any()) <= 20:
        place = {level: i for i, level in enumerate(levels)}
        at = np.array([len(levels) if gone else place[v] for v, gone in zip(values.tolist(), absent, strict=True)])
        table = np.zeros((len(levels) + 1, len(counts)), int)
        np.add.at(table, (at, codes), 1)
        return "copy" if len(labels) - table.max(axis=1).sum() <= SAME * others else None
    if values.dtype == object or len(counts) != 2 or absent.any():
        return None
    order = np.argsort(values, kind="stable")
    ones = np.concatenate([[0], np.cumsum(codes[order])])
    wrong = ones + (len(labels) - np.arange(len(labels) + 1)) - (ones[-1] - ones)  # zeros above, ones below
    edge = np.concatenate([[True], np.diff(values[order]) > 0, [True]])
    return "cut" if min(wrong[edge].min(), (len(labels) - wrong[edge]).min()) <= SAME * others else None


def missing_when(table: Table, name: str, levels: Mapping[str, np.ndarray]) -> str | None:
    """Where a value is missing for a reason that another column tells: that column and its levels, in words."""
    absent = table.missing(name)
    share = absent.mean()
    if table.n_rows < FEW_ROWS or not 0.05 <= share <= 0.95:
        return None
    for other, values in levels.items():
        if other == name:
            continue
        gone = set(values[absent].tolist())
        there = set(values[~absent].tolist())
        if not gone & there and len(gone | there) <= 20:
            told = ", ".join(sorted(str(v) for v in gone)[:4])
            return f"{other} is {told}" if gone != {MISSING_LEVEL} else f"{other} is missing"
    return None


def heavy_tailed(present: np.ndarray) -> bool:
    """Whether the farthest few lie so far out that a distance in the range of all says little of people."""
    if len(present) < 100 or len(np.unique(present)) < 20:
        return False
    low, middle, high = np.quantile(present, [0.05, 0.5, 0.95])
    return bool(present.max() - middle > 4 * (high - middle) or middle - present.min() > 4 * (middle - low))


def usual_step(present: np.ndarray, own: float) -> float:
    """A step that people would name: two digits of the middle half's width, and no finer than the values."""
    for share in (0.25, 0.05, 0.01, 0.0):  # of a column that most have nothing in, the others' width
        low, high = np.quantile(present, [share, 1 - share])
        if high > low:
            break
    width = high - low
    unit = 10.0 ** (np.floor(np.log10(width) + 1e-9) - 1) if 0 < width < 1e300 else own
    return float(max(unit, own))


def common_step(present: np.ndarray, own: float) -> float:
    """What a few values are all multiples of: terms of 12, 24 and 36 months are not offered at 17."""
    units = np.unique(np.round(present / own))
    if np.abs(units).max() > 1e15:
        return own
    common = int(np.gcd.reduce(units.astype(np.int64)))
    return round(common * own, 12) if common > 1 else own


def code_for_unknown(present: np.ndarray) -> float | None:
    """A largest or least value such as 999 or -999 that lies far from all others; None where there is none."""
    most, least = present.max(), present.min()
    for value, others in ((most, present[present < most]), (least, present[present > least])):
        digits = f"{abs(value):.0f}"
        repeated = len(digits) >= 2 and digits[0] in "9678" and len(set(digits)) == 1
        if repeated and len(others) and abs(value) > 3 * np.abs(others).max():
            return float(value)
    return None


_IN_RANGES = re.compile(
    r"""[\s\d.,'\u2019<>=≤≥+\-\u2013—/$€£%()\[\]]|k|yrs?|years?|months?|mths?|days?|weeks?|hours?|or|and|to|more|less|than|under
    |over|up|at|least|most|below|above|between|bis|unter|über|ueber|ab|mehr|weniger|als|jahre?n?|monate?n?|oder|von|eur
    |usd|ans?|mois|plus|moins|de|à|et|entre|jours|años?|anos?|meses|mes|más|mas|menos|hasta|y|o|anni|anno|mesi|più|meno|di
    |da|fino|oltre""",
    re.IGNORECASE | re.VERBOSE,
)
_FIGURES = re.compile(r"\d+(?:[.,'\u2019]\d{3})*(?:[.,]\d+)?")
_BELOW = re.compile(
    r"<|under|below|less|up to|at most|unter|weniger|bis zu|moins|menos|hasta|meno|fino", re.IGNORECASE
)


def in_order(levels: tuple) -> tuple | None:
    """Texts such as `< 1 year`, `1-3 years` and `10+ years` in the order of their numbers; None for any other."""
    if not 3 <= len(levels) <= MOST_LEVELS or not all(isinstance(level, str) for level in levels):
        return None
    if all(level.strip().isdigit() for level in levels):
        return None  # kept as texts, these are codes
    keys = {}
    for level in levels:
        figures = _FIGURES.findall(level)
        words = re.findall(r"[^\W\d_]+|\S", _FIGURES.sub(" ", level))
        if not figures or not all(_IN_RANGES.fullmatch(word) for word in words):
            return None
        first = float(re.sub(r"[,.'\u2019](?=\d{3})", "", figures[0]).replace(",", "."))
        below = len(figures) == 1 and _BELOW.search(level) is not None
        keys[level] = first * (1000 if re.search(r"\d\s?k\b", level, re.IGNORECASE) else 1), not below
    return tuple(sorted(levels, key=keys.__getitem__)) if len(set(keys.values())) == len(keys) else None
