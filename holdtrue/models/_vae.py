"""Variational autoencoder of mixed rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.models._autoencoder import AbstractAutoencoder, Rows, networks
from holdtrue.models._mlp import MLPModel


class VAE(AbstractAutoencoder):
    """A Gaussian code with a standard normal prior, fitted on ``loss + beta * KL`` (beta = 1 is minus the ELBO).

    The code of a row is the mean; only training draws around it.
    """

    encoder: MLPModel
    decoder: MLPModel
    rows: Rows
    given: tuple[int, ...] = eqx.field(static=True)

    def posterior(self, x: Float[Array, " d"]) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Mean and log-variance of a row's code."""
        mean, log_variance = jnp.split(self.encoder.logits(self.rows.read(x)), 2)
        return mean, log_variance

    def encode(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Mean code of one row."""
        return self.posterior(x)[0]

    def loss(self, x: Float[Array, " d"], key: PRNGKeyArray | None, beta: Float[Array, ""]) -> Float[Array, ""]:
        """Reconstruction from one drawn code (from the mean, without a key), plus the weighted KL."""
        mean, log_variance = self.posterior(x)
        z = mean
        if key is not None:
            z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
        return self.rows.loss(self.outputs(z, x), x) + beta * gaussian_kl(mean, log_variance)


def gaussian_kl(mean: Float[Array, " k"], log_variance: Float[Array, " k"]) -> Float[Array, ""]:
    """KL divergence of a diagonal Gaussian from the standard normal."""
    return 0.5 * jnp.sum(mean**2 + jnp.exp(log_variance) - 1.0 - log_variance)


def build_vae(
    rows: Rows, widths: tuple[int, ...], n_latent: int, given: tuple[int, ...], key: PRNGKeyArray
) -> VAE:
    """Untrained variational autoencoder; the same key gives the same weights."""
    return VAE(*networks(rows, widths, n_latent, 2 * n_latent, given, key), rows=rows, given=given)
