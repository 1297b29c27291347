"""Theorem 3: recourse among the codes of an autoencoder, and how steep its decoder can be."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from holdtrue.metrics.tradeoffs._sides import Bound
from holdtrue.models import AbstractAutoencoder, double_precision, in_double

SOFTMAX = 0.5  # largest singular value of the softmax's Jacobian: p (1 - p) twice over, at two equal halves


def decoder_lipschitz(model: AbstractAutoencoder) -> float:
    """A true Lipschitz constant (l2) of a decoder, from codes to rows, for whatever else the decoder is given.

    The product of its layers' spectral norms, of the first one's the part that reads codes. Activations are no
    steeper than 1, a softmax than a half; numbers are written in their own spread. Nowhere is the decoder steeper;
    it may be less steep everywhere.
    """
    first, *others = (np.asarray(weight, np.float64) for weight in model.decoder.weights)
    weights = [first[:, : first.shape[1] - len(model.given)], *others]
    scale = np.asarray(model.rows.scale, np.float64)
    layout = model.rows.layout
    written = np.zeros(model.rows.n_written)
    n = len(layout.numbers)
    written[:n] = np.asarray(model.rows.spread, np.float64)
    for group in layout.groups:
        written[group.start : group.stop] = SOFTMAX / np.abs(scale[group.start : group.stop]).min()
    weights[-1] = written[:, None] * weights[-1]
    return float(np.prod([np.linalg.norm(weight, 2) for weight in weights]))


def theorem_3(
    model: AbstractAutoencoder,
    x: ArrayLike,
    code_non_robust: ArrayLike,
    code_robust: ArrayLike,
    *,
    radii: tuple[ArrayLike, ArrayLike] | None = None,
) -> Bound:
    r"""Difference of the costs of C-CHVAE under two models with one autoencoder.

    Forms of the right side, with the decoder's Lipschitz constant `L`:

    * ``printed``: :math:`L (r_R + r_N)` with the distances `r` of the codes from the person's own (eq. 11).
    * ``corrected``: the same, since it holds; the proof's ``x = G(z)`` is not needed.
    * ``sharper``: :math:`L \|z_R - z_N\|`, which is never more.

    Both are about rows as they are decoded. Rounding them to whole categories, as recourse for people must, is not
    Lipschitz, and nothing is said then.

    Parameters
    ----------
    model : AbstractAutoencoder
    x : array of shape (people, columns)
    code_non_robust, code_robust : arrays of shape (people, codes)
        Codes found under each model.
    radii : pair of arrays, optional
        The search's own radii, l1 or l2; by default the codes' l2 distances from the person's.
    """
    with double_precision():
        double = in_double(model)
        rows = jnp.asarray(x, jnp.float64)
        codes = [jnp.asarray(code, jnp.float64) for code in (code_non_robust, code_robust)]
        own = np.asarray(jax.vmap(double.encode)(rows))
        decoded = [np.asarray(jax.vmap(double.decode)(code, rows)) for code in codes]
    z_n, z_r = (np.asarray(code) for code in codes)
    cost_n, cost_r = (np.linalg.norm(row - np.asarray(rows), axis=-1) for row in decoded)
    if radii is None:
        radii = np.linalg.norm(z_n - own, axis=-1), np.linalg.norm(z_r - own, axis=-1)
    steep = decoder_lipschitz(model)
    printed = steep * (np.asarray(radii[0]) + np.asarray(radii[1]))
    forms = {
        "printed": printed,
        "corrected": printed,
        "sharper": steep * np.linalg.norm(z_n - z_r, axis=-1),
    }
    return Bound(cost_n - cost_r, forms, cost_n + cost_r)
