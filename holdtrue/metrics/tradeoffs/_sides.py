"""Both sides of an inequality, or a condition and its conclusion, for many people at once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

ROUNDING = 1e-9  # relative to a side: both are computed in double precision
LAST = 16 * np.finfo(float).eps  # relative to what was subtracted: the last digits of a difference are noise


@dataclass(frozen=True)
class Bound:
    """Both sides of an inequality, one entry per person.

    Attributes
    ----------
    difference : array
        What the inequality is about, with its sign: non-robust minus robust.
    forms : mapping from name to array
        Right sides; infinite where a form says nothing.
    size : array, default=0
        How large the numbers were whose difference this is; it says how much of it is rounding.
    """

    difference: np.ndarray
    forms: Mapping[str, np.ndarray]
    size: np.ndarray | float = 0.0

    @property
    def left(self) -> np.ndarray:
        """Size of the difference: the proofs bound it from both sides."""
        return np.abs(self.difference)

    def right(self, form: str = "corrected") -> np.ndarray:
        """Right side of a form, of the shape of the left."""
        return np.broadcast_to(self.forms[form], np.shape(self.difference))

    def applies(self, form: str = "corrected") -> np.ndarray:
        """Whether the form says anything: its right side is a finite number."""
        return np.isfinite(self.right(form))

    def violated(self, form: str = "corrected") -> np.ndarray:
        """Whether the left side is above the right one, beyond rounding."""
        right = self.right(form)
        return self.left > right + ROUNDING * np.abs(right) + LAST * np.abs(self.size)

    def tightness(self, form: str = "corrected") -> np.ndarray:
        """Left over right: 1 is tight. NaN where the form says nothing or both are 0."""
        right = self.right(form)
        use = self.applies(form) & (right != 0)
        return np.divide(self.left, right, out=np.full(self.left.shape, np.nan), where=use)

    def summary(self) -> dict[str, dict[str, float]]:
        """Per form: cases, share where it applies, violations, and median and largest tightness."""
        return {form: self._summary(form) for form in self.forms}

    def _summary(self, form: str) -> dict[str, float]:
        ratio = self.tightness(form)
        seen = ratio[np.isfinite(ratio)]
        return {
            "cases": int(self.left.size),
            "applies": float(self.applies(form).mean()),
            "violations": int(self.violated(form).sum()),
            "tightness (median)": float(np.median(seen)) if seen.size else float("nan"),
            "tightness (largest)": float(seen.max()) if seen.size else float("nan"),
        }


@dataclass(frozen=True)
class Condition:
    """A condition under which recourse is said to be at least as valid under the non-robust model.

    Attributes
    ----------
    non_robust, robust : arrays
        Each model's score at its own recourse; validity is the sigmoid of it.
    forms : mapping from name to array of bool
        Whether each form's condition holds.
    """

    non_robust: np.ndarray
    robust: np.ndarray
    forms: Mapping[str, np.ndarray]

    @property
    def concluded(self) -> np.ndarray:
        """Whether the conclusion is true: the non-robust score is at least the robust one."""
        slack = ROUNDING * (np.abs(self.non_robust) + np.abs(self.robust))
        return self.non_robust >= self.robust - slack

    def applies(self, form: str = "corrected") -> np.ndarray:
        """Whether the form's condition holds."""
        return np.broadcast_to(self.forms[form], np.shape(self.non_robust))

    def violated(self, form: str = "corrected") -> np.ndarray:
        """Whether the condition holds and the conclusion is false."""
        return self.applies(form) & ~self.concluded

    def summary(self) -> dict[str, dict[str, float]]:
        """Per form: cases, share where the condition holds, violations; and how often the conclusion is true."""
        return {
            form: {
                "cases": int(np.size(self.non_robust)),
                "applies": float(self.applies(form).mean()),
                "violations": int(self.violated(form).sum()),
                "conclusion true": float(self.concluded.mean()),
            }
            for form in self.forms
        }
