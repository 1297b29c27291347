"""Every error holdfast raises on purpose, under one base class.

The text follows one template: ``<Where>: <what is wrong>; got <value>. <What to do.>``
"""

__all__ = [
    "CapabilityError",
    "DataError",
    "HoldfastError",
    "LedgerError",
    "MissingDependencyError",
    "SchemaError",
]


class HoldfastError(Exception):
    """Base of all errors raised on purpose."""


class SchemaError(HoldfastError, ValueError):
    """The description of the columns contradicts itself, or the table."""


class DataError(HoldfastError, ValueError):
    """A table or a file cannot be used as it is."""


class CapabilityError(HoldfastError, TypeError):
    """A method asks for something that this model or schema does not offer."""


class MissingDependencyError(HoldfastError, ImportError):
    """An optional package is not installed."""


class LedgerError(HoldfastError):
    """The ledger of issued recourse cannot do what was asked."""
