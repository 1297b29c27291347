"""A run: a resumable job over the rows of a table: read, check, solve, write, issue.

Names are loaded when first used.
"""

from holdtrue._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
