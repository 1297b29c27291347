"""What was guessed of a table, column by column, and why; and what its owner answered."""

from dataclasses import dataclass, replace

from holdtrue.errors import DataError
from holdtrue.schema._checks import shown
from holdtrue.schema._feature import Feature
from holdtrue.schema._schema import Schema


@dataclass(frozen=True)
class ColumnGuess:
    """What was guessed of one column, and why.

    Attributes
    ----------
    name : str
    feature : Feature or None
        None where the column is left out.
    why : list of str
        The guess in sentences, without the column's name.
    doubt : str or None
        What only the owner of the data can say; None where the guess is as good as any.
    unit : str or None
        What only the owner can say of a number's unit; None where the guess is as good as any, or none is needed.
    """

    name: str
    feature: Feature | None
    why: tuple[str, ...] = ()
    doubt: str | None = None
    unit: str | None = None

    @property
    def notes(self) -> list[str]:
        """The sentences, with the column's name."""
        return [f"{self.name}: {text}" for text in self.why]


@dataclass(frozen=True)
class Guess:
    """A guessed schema, column by column, in the order of the table."""

    columns: tuple[ColumnGuess, ...]

    @property
    def schema(self) -> Schema:
        """The schema of what was not left out."""
        features = [c.feature for c in self.columns if c.feature is not None]
        if not features:
            reasons = " ".join(note for c in self.columns for note in c.notes)
            raise DataError(
                f"Schema.infer: the table has no feature column; got {shown([c.name for c in self.columns])}. "
                f"{reasons or 'Give a table with columns beside the target.'}"
            )
        return Schema(features, notes=[note for c in self.columns for note in c.notes])

    @property
    def left_out(self) -> list[str]:
        """Columns that are no features."""
        return [c.name for c in self.columns if c.feature is None]

    @property
    def doubtful(self) -> list[ColumnGuess]:
        """Columns about which their owner should be asked."""
        return [c for c in self.columns if c.doubt is not None]

    def counted_in(self, name: str, unit: str) -> "Guess":
        """The same with the unit of one column settled; an empty one is none."""
        columns = []
        for column in self.columns:
            if column.name == name and column.feature is not None:
                made = column.feature.replace(unit=unit or None)
                said = f"in {unit}, as you said." if unit else "without a unit, as you said."
                column = replace(column, feature=made, why=(*column.why, said), unit=None)
            columns.append(column)
        return Guess(tuple(columns))

    def answered(self, name: str, answer: str) -> "Guess":
        """The same with one column settled: ``free``, ``fixed``, ``increase``, ``decrease`` or ``drop``."""
        columns = []
        for column in self.columns:
            if column.name == name and answer == "drop":
                column = ColumnGuess(name, None, ("left out, as you said.",))
            elif column.name == name and column.feature is not None:
                made = column.feature.replace(direction=answer)
                column = replace(column, feature=made, why=(*column.why, f"{answer}, as you said."), doubt=None)
            columns.append(column)
        return Guess(tuple(columns))
