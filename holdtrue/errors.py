"""Every error holdtrue raises on purpose, under one base class.

The text follows one template: ``<Where>: <what is wrong>; got <value>. <What to do.>``
"""

__all__ = [
    "ArgumentError",
    "CapabilityError",
    "ContradictionError",
    "DataError",
    "HoldtrueError",
    "IdTaken",
    "Interrupted",
    "LedgerError",
    "MissingDependencyError",
    "NoSuchPromise",
    "NotLive",
    "PluginError",
    "QualityWarning",
    "RemoteError",
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


class ArgumentError(HoldtrueError, TypeError):
    """A function was called with an argument that it does not have."""


class ContradictionError(HoldtrueError, RuntimeError):
    """An answer contradicts the model that it is about: nothing of it may be used."""


class MissingDependencyError(HoldtrueError, ImportError):
    """An optional package is not installed."""


class QualityWarning(UserWarning):
    """A fitted model does worse on held-out rows than a plain one of the same rows."""


class RemoteError(HoldtrueError, ConnectionError):
    """A scoring service gave no answer, or one that cannot be used."""


class PluginError(HoldtrueError, ImportError):
    """What another package offers to holdtrue cannot be used."""


class LedgerError(HoldtrueError):
    """The ledger of issued recourse cannot do what was asked."""


class NoSuchPromise(LedgerError, LookupError):
    """The ledger has no promise of this id."""


class DoesNotHold(DataError):
    """A recourse is known not to hold, and nobody has written why it should be promised all the same."""


class NotLive(LedgerError):
    """The promise was superseded, fulfilled, forgotten, or has run out: nothing more can be done with it."""


class IdTaken(LedgerError):
    """The ledger has another record of this id."""


class AgainstPolicy(LedgerError):
    """The ledger's policy does not allow this promise, and nobody who may has overridden it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the midst of a long job, with a sentence on what is kept.

    A KeyboardInterrupt and not a HoldtrueError: whoever catches errors and goes on must not swallow it.
    """
