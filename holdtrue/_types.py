"""Names for what comes from elsewhere or goes there, where a type can say no more than what is meant."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Label: TypeAlias = str | int | float | bool | np.generic
    """A class label, or a level: what stands in a column of labels."""
    RandomState: TypeAlias = int | np.random.RandomState | None
    """A seed as scikit-learn takes it."""
else:
    Label = RandomState = object  # a command's help does not load numpy for the sake of a name

JsonObject: TypeAlias = dict[str, Any]
"""An object as JSON has it, by name."""

Keywords: TypeAlias = dict[str, Any]
"""Arguments by name, to be handed on."""

Json: TypeAlias = Any
"""A value as JSON has it: an object, a list, a text, a number, true, false or null."""

Cell: TypeAlias = Any
"""What stands in one cell of a table, or is to stand there: a number, a text, a level, a time, or nothing."""

NativeFrame: TypeAlias = Any
"""A dataframe of pandas, polars or pyarrow: whichever library the question came in."""

Estimator: TypeAlias = Any
"""A model or a transformer of another library. What it has depends on its kind, and is asked of it."""

Tensor: TypeAlias = Any
"""A tensor of another library, or what its arithmetic is asked of in place of one."""
