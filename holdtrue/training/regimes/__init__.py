"""Training regimes, one a file: what is done with a minibatch."""
