"""Functions of one number that are no line: powers, quantiles, splines and bins, as scikit-learn fits them."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Array, Float
from scipy.interpolate import PPoly

from holdtrue._types import Estimator
from holdtrue.errors import CapabilityError

EDGE = 1e-7  # how near to an end a quantile transformer takes a value for it
NEAR = 5e-7  # share of a value, and of what was added to it, by which float32 may miss it
OUTERMOST = -float(scipy.stats.norm.ppf(EDGE - np.spacing(1)))


class AbstractCurve:
    """A function of one number, twice: in double precision as the library computes it, and inside a program."""

    rising: bool = True
    """Whether it never falls, so that a tree's threshold has one place among the raw values."""

    @abstractmethod
    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Values in double precision; NaN stays what the library makes of it."""

    @abstractmethod
    def layer(self) -> eqx.Module:
        """The same, in single precision and differentiable."""

    def layer_for(self, offset: float, less: float) -> tuple[eqx.Module, float]:
        """The same for where it stands, and what is left of `less`.

        `offset` was added to the values in single precision; `less` a later step takes away, if not the layer.
        """
        return self.layer(), less


class Power(AbstractCurve):
    """Yeo and Johnson's or Box and Cox's transformation."""

    def __init__(self, exponent: float, method: str) -> None:
        self.exponent, self.method = float(exponent), method

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Values as SciPy has them."""
        values = np.asarray(values, np.float64)
        with np.errstate(all="ignore"):
            if self.method == "box-cox":
                return scipy.special.boxcox(values, self.exponent)
            bent: Any = scipy.stats.yeojohnson(values.ravel(), self.exponent)
            return np.reshape(bent, values.shape)

    def layer(self) -> "PowerLayer":
        """The same inside a program."""
        return self.layer_for(0.0, 0.0)[0]

    def layer_for(self, offset: float, less: float) -> "tuple[PowerLayer, float]":
        """The same less a number: of a constant and a little, single precision keeps the little."""
        parts: Any = (self.exponent, less, 1.0 + self.exponent * less)
        exponent, taken, rest = (jnp.asarray(part, jnp.float32) for part in parts)
        far = bool(abs(self.exponent * less) > 0.5)
        return PowerLayer(exponent, taken, rest, self.method == "box-cox", far), 0.0


class PowerLayer(eqx.Module):
    """Yeo and Johnson's or Box and Cox's transformation inside a program."""

    exponent: Float[Array, ""]
    less: Float[Array, ""]
    rest: Float[Array, ""]
    positive: bool = eqx.field(static=True)
    far: bool = eqx.field(static=True)

    def __call__(self, x: Float[Array, ""]) -> Float[Array, ""]:
        """Value at one number."""
        if self.positive:
            return self._up(jnp.log(jnp.maximum(x, 1e-30)))
        up, down = jnp.log1p(jnp.maximum(x, 0.0)), jnp.log1p(jnp.maximum(-x, 0.0))
        return jnp.where(x >= 0, self._up(up), -_power(down, 2.0 - self.exponent) - self.less)

    def _up(self, log: Float[Array, ""]) -> Float[Array, ""]:
        if self.far:  # (exp(e log) - 1) / e - less, whose constants were added in double precision
            return (jnp.exp(self.exponent * log) - self.rest) / self.exponent
        return _power(log, self.exponent) - self.less


def _power(log: Float[Array, ""], exponent: Float[Array, ""]) -> Float[Array, ""]:
    """``(exp(log) ** exponent - 1) / exponent``, which is `log` where the exponent is 0."""
    small = jnp.abs(exponent) < 1e-6
    safe = jnp.where(small, 1.0, exponent)
    return jnp.where(small, log, jnp.expm1(safe * log) / safe)


class Quantiles(AbstractCurve):
    """The share of the training rows below a number, or the normal deviate of that share."""

    def __init__(self, quantiles: np.ndarray, shares: np.ndarray, normal: bool) -> None:
        self.quantiles, self.shares, self.normal = np.asarray(quantiles, np.float64), np.asarray(shares), normal

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Values as scikit-learn has them: where quantiles coincide, the middle of their shares."""
        values = np.asarray(values, np.float64)
        first, last = self.quantiles[0], self.quantiles[-1]
        below = -np.interp(-values, -self.quantiles[::-1], -self.shares[::-1])
        out = 0.5 * (np.interp(values, self.quantiles, self.shares) + below)
        near = EDGE if self.normal else 0.0
        high = values + near > last if self.normal else values == last
        low = values - near < first if self.normal else values == first
        out = np.where(low, 0.0, np.where(high, 1.0, out))
        if self.normal:
            out = np.clip(scipy.stats.norm.ppf(out), -OUTERMOST, OUTERMOST)
        return np.where(np.isnan(values), np.nan, out)

    def layer(self) -> "QuantilesLayer":
        """The same inside a program."""
        return self.layer_for(0.0, 0.0)[0]

    def layer_for(self, offset: float, less: float) -> "tuple[QuantilesLayer, float]":
        """The same, for values that are as exact as what was added to them."""
        parts: Any = (self.quantiles, self.shares, 1 - self.shares, abs(offset))
        quantiles, shares, rest, added = (jnp.asarray(part, jnp.float32) for part in parts)
        return QuantilesLayer(quantiles, shares, rest, added, self.normal), less


class QuantilesLayer(eqx.Module):
    """Shares of rows below a number inside a program."""

    quantiles: Float[Array, " q"]
    shares: Float[Array, " q"]
    rest: Float[Array, " q"]
    added: Float[Array, ""]
    normal: bool = eqx.field(static=True)

    def __call__(self, x: Float[Array, ""]) -> Float[Array, ""]:
        """Value at one number."""
        # Where many people have one value the shares jump, and float32 misses that value by a little.
        near = self.quantiles[jnp.argmin(jnp.abs(self.quantiles - x))]
        reach = NEAR * (jnp.abs(near) + self.added)
        x = x + jax.lax.stop_gradient(jnp.where(jnp.abs(near - x) <= reach, near - x, 0.0))
        # Where many people have the least or the greatest value, scikit-learn takes the end and not the middle.
        first, last = x <= self.quantiles[0], x >= self.quantiles[-1]
        below = jnp.where(first, 0.0, jnp.where(last, 1.0, self._share(x, self.shares)))
        if not self.normal:
            return below
        # From above, too: float32 has few numbers just below 1.
        above = jnp.where(first, 1.0, jnp.where(last, 0.0, self._share(x, self.rest)))
        x_low, x_high = (jnp.clip(p, EDGE, 0.5) for p in (below, above))
        return jnp.where(below < 0.5, jax.scipy.special.ndtri(x_low), -jax.scipy.special.ndtri(x_high))

    def _share(self, x: Float[Array, ""], shares: Float[Array, " q"]) -> Float[Array, ""]:
        back = jnp.interp(-x, -self.quantiles[::-1], shares[::-1])
        return 0.5 * (jnp.interp(x, self.quantiles, shares) + back)


class Polynomials(AbstractCurve):
    """One function of a B-spline's basis, a polynomial between every two knots."""

    rising = False

    def __init__(self, spline: Estimator, at: int, outside: str) -> None:
        self.spline, self.at, self.outside = spline, at, outside
        self.low, self.high = float(spline.t[spline.k]), float(spline.t[-spline.k - 1])

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Values as SciPy has them; 0 where one is missing."""
        values = np.asarray(values, np.float64)
        kept = values if self.outside == "continue" else np.clip(values, self.low, self.high)
        out = np.asarray(self.spline(np.nan_to_num(kept))[..., self.at])
        if self.outside == "linear":
            slope = self.spline.derivative()
            out = out + np.asarray(slope(np.nan_to_num(kept))[..., self.at]) * (values - kept)
        return np.where(np.isnan(values), 0.0, out)

    def layer(self) -> "PolynomialsLayer":
        """The same inside a program."""
        pieces = PPoly.from_spline((self.spline.t, self.spline.c[:, self.at], self.spline.k))
        inside = (pieces.x[:-1] >= self.low) & (pieces.x[1:] <= self.high) & (pieces.x[:-1] < pieces.x[1:])
        parts: Any = (pieces.x[:-1][inside], pieces.c[:, inside])
        starts, factors = (jnp.asarray(part, jnp.float32) for part in parts)
        ends = jnp.asarray([self.low, self.high], jnp.float32)
        return PolynomialsLayer(starts, factors, ends, self.outside)


class PolynomialsLayer(eqx.Module):
    """A polynomial between every two knots inside a program."""

    starts: Float[Array, " p"]
    factors: Float[Array, "d p"]
    ends: Float[Array, " 2"]
    outside: str = eqx.field(static=True)

    def __call__(self, x: Float[Array, ""]) -> Float[Array, ""]:
        """Value at one number."""
        if self.outside == "continue":
            return self._inside(x)
        kept = jnp.clip(x, self.ends[0], self.ends[1])
        if self.outside == "constant":
            return self._inside(kept)
        value, slope = jax.value_and_grad(self._inside)(jax.lax.stop_gradient(kept))
        return jnp.where(x == kept, self._inside(kept), value + slope * (x - jax.lax.stop_gradient(kept)))

    def _inside(self, x: Float[Array, ""]) -> Float[Array, ""]:
        piece = jnp.clip(jnp.searchsorted(self.starts, x, side="right") - 1, 0, len(self.starts) - 1)
        return jnp.polyval(self.factors[:, piece], x - self.starts[piece])


class Bins(AbstractCurve):
    """A value for each of the bins that edges make; a number on an edge is in the upper one."""

    def __init__(self, edges: np.ndarray, values: np.ndarray) -> None:
        self.edges, self.values = np.asarray(edges, np.float64), np.asarray(values, np.float64)
        self.rising = bool((np.diff(self.values) >= 0).all())

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """The bin's value."""
        return self.values[np.searchsorted(self.edges, values, side="right")]

    def layer(self) -> eqx.Module:
        """Refuse: a function in steps has no slope to search by."""
        raise CapabilityError(
            f"recourse: numbers in bins have no slope; got {len(self.values)} bins where a differentiable column "
            "is read. Use SparseSearch, which asks the model."
        )
