"""Every error holdtrue raises on purpose, under one base class.

The text follows one template: ``<Where>: <what is wrong>; got <value>. <What to do.>``
"""

__all__ = [
    "CapabilityError",
    "DataError",
    "HoldtrueError",
    "Interrupted",
    "LedgerError",
    "MissingDependencyError",
    "SchemaError",
]


class HoldtrueError(Exception):
    """Base of all errors raised on purpose."""


class SchemaError(HoldtrueError, ValueError):
    """The description of the columns contradicts itself, or the table."""


class DataError(HoldtrueError, ValueError):
    """A table or a file cannot be used as it is."""


class CapabilityError(HoldtrueError, TypeError):
    """A method asks for something that this model or schema does not offer."""


class MissingDependencyError(HoldtrueError, ImportError):
    """An optional package is not installed."""


class LedgerError(HoldtrueError):
    """The ledger of issued recourse cannot do what was asked."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the midst of a long job, with a sentence on what is kept.

    A KeyboardInterrupt and not a HoldtrueError: whoever catches errors and goes on must not swallow it.
    """
