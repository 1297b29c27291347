"""Recourse that holds true: classifiers that owe people a way to a yes, and the proof that it still works.

Names are loaded when first used: ``import holdtrue`` imports neither jax nor pandas. The list is
``__init__.pyi``.
"""

from holdtrue._lazy import attach
from holdtrue._version import __version__ as __version__

__getattr__, __dir__, __all__ = attach(__name__, __file__)
