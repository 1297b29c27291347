"""The life of a promise: made from a plan, told in a letter, kept or broken by a new model.

Names are loaded when first used: letters need no jax.
"""

from holdtrue._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
