"""Reasons for any model: a score, people at its cut-off, and the same of its retrainings."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from holdtrue._types import Estimator, Label
from holdtrue.attribution._codes import CodeTable
from holdtrue.attribution._players import Players, players_of
from holdtrue.attribution._reference import Reference, at_cutoff
from holdtrue.attribution._result import Panel, Reasons, top, units_of
from holdtrue.attribution._scores import AbstractScore, Sharing, score_of
from holdtrue.attribution._sums import added
from holdtrue.batch import Predictor, predictor_of, wrap
from holdtrue.errors import DataError
from holdtrue.schema import LAST, Schema, Table, TableLike, as_table, hinted

REFERENCE = 100  # rows at the cut-off
GIVEN, OWN, ASKED = "the reference rows", "the rows that the model learned from", "the people asked about"


class Models(Protocol):
    """Retrainings of one model; `holdtrue.retrain` returns some."""

    vary: str

    def __len__(self) -> int: ...
    def member(self, i: int) -> Predictor:
        """One of them."""
        ...

    def digests(self) -> tuple[str | None, ...]:
        """What tells each from others."""
        ...


@dataclass(frozen=True)
class Pair:
    """What is known between one decision and another: the score, whom to compare with, and how to share it out."""

    score: AbstractScore
    reference: Reference
    share: Sharing


@dataclass
class Standpoint:
    """One model's view of the people at its own cut-off, worked out when first asked for."""

    predictor: Predictor
    players: Players
    pool: Table
    x: np.ndarray
    n: int
    source: str
    random_state: int
    pairs: dict[tuple[int, int], Pair] = field(default_factory=dict)

    def pair(self, target: int, decided: int) -> Pair:
        """What lies between two decisions."""
        if self.predictor.decision.n_classes == 2:
            decided = 1 - target
        if (target, decided) not in self.pairs:
            score = score_of(self.predictor, self.players, target, decided, self.random_state)
            reference = at_cutoff(score.margins(self.x), self.pool, self.x, self.n, self.source)
            share = score.against(reference.x, reference.weights)
            self.pairs[target, decided] = Pair(score, reference, share)
        return self.pairs[target, decided]


class Reasoner:
    """Gives reasons, again and again, for one model: what takes time is done once.

    Parameters
    ----------
    predictor : Predictor
    pool : Table
        Rows that the model knows, among which those at the cut-off are found.
    schema : Schema, optional
        Groups, protected columns and labels, where they are not those of the model's own schema.
    n : int, default=4
        Reasons per person, at most.
    n_reference : int, default=100
        Rows at the cut-off.
    codes : CodeTable, optional
    guides : Models, optional
        Retrainings, which are asked for reasons too.
    random_state : int, default=0
        Of what is sampled.
    source : str
        Where the pool is from, in words.
    """

    def __init__(
        self,
        predictor: Predictor,
        pool: TableLike,
        *,
        schema: Schema | None = None,
        n: int = 4,
        n_reference: int = REFERENCE,
        codes: CodeTable | None = None,
        guides: Models | None = None,
        random_state: int = 0,
        source: str = GIVEN,
    ) -> None:
        for name, value in (("n", n), ("n_reference", n_reference)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise DataError(f"reasons: `{name}` must be a positive whole number; got {value!r}.")
        encoder = predictor.encoder
        self.predictor, self.n, self.codes, self.guides = predictor, int(n), codes, guides
        self.players = players_of(encoder.schema, encoder.layout, schema)
        self.units = units_of(self.players, codes)  # a table that does not fit is refused here
        table = encoder.schema.check(pool, where="reasons")
        self._how = (self.players, table, encoder.encode(table), int(n_reference), source, random_state)
        self._own = Standpoint(predictor, *self._how)
        self._others: list[Standpoint] | None = None

    @property
    def others(self) -> list[Standpoint]:
        """The retrained models' views, each with the people at its own cut-off."""
        if self._others is None:
            guides = self.guides
            self._others = (
                [] if guides is None else [Standpoint(guides.member(i), *self._how) for i in range(len(guides))]
            )
        return self._others

    def of(self, X: TableLike, target: Sequence[Label] | np.ndarray | None = None) -> Reasons:
        """Reasons of every row.

        Parameters
        ----------
        X : dataframe
            People as they are.
        target : array of labels, optional
            The wanted class of each; the favourable one when omitted.
        """
        predictor, encoder = self.predictor, self.predictor.encoder
        table = encoder.schema.check(X, where="reasons")
        x = encoder.encode(table)
        decided = predictor.decide(table)
        wanted = self._wanted(target, len(x))
        other = np.where(decided == wanted, self._runner_up(table, wanted), decided)
        n = len(self.players.names)
        parts, errors = np.zeros((len(x), n)), np.full((len(x), n), np.nan)
        gap, which, references = np.zeros(len(x)), np.zeros(len(x), int), []
        score: AbstractScore | None = None
        for to, away in _distinct(wanted, other):
            mine = np.flatnonzero((wanted == to) & (other == away))
            known = self._own.pair(to, away)
            score = known.score
            shares, error = known.share(x[mine])
            parts[mine] = -shares
            if error is not None:
                errors[mine] = error
            gap[mine] = known.reference.score - score.margins(x[mine])
            which[mine] = len(references)
            references.append(known.reference)
        if score is None:
            pair = self._own.pair(predictor.decision.favourable, 0)
            score, references = pair.score, [pair.reference]
        refused = decided != wanted
        made = Reasons(
            table=table, players=self.players, contributions=parts, gap=gap,
            errors=None if np.isnan(errors).all() else errors, refused=refused, references=tuple(references),
            which=which, n=self.n, unit=score.unit, how=score.how, codes=self.codes,
        )  # fmt: skip
        return made if self.guides is None else replace(made, panel=self._panel(made, x, wanted, other))

    def _panel(self, made: Reasons, x: np.ndarray, wanted: np.ndarray, other: np.ndarray) -> Panel:
        guides = self.guides
        assert guides is not None
        ranked, groups = made.ranked, [unit.players for unit in self.units]
        votes = np.zeros((len(x), len(self.units)), int)
        overlap, first = np.full((len(guides), len(x)), np.nan), np.zeros((len(guides), len(x)), bool)
        named = _named(ranked, len(self.units))
        count = named.sum(axis=1)
        for m, standpoint in enumerate(self.others):
            theirs = np.zeros((len(x), len(self.players.names)))
            for to, away in _distinct(wanted, other):
                mine = np.flatnonzero(made.refused & (wanted == to) & (other == away))
                if len(mine):
                    theirs[mine] = -standpoint.pair(to, away).share(x[mine])[0]
            best = top(added(theirs, groups), self.n, made.refused)
            also = _named(best, len(self.units))
            votes += also
            with np.errstate(invalid="ignore"):
                overlap[m] = np.where(count > 0, (named & also).sum(axis=1) / count, np.nan)
            first[m] = (best[:, 0] == ranked[:, 0]) & (ranked[:, 0] >= 0)
        return Panel(votes, overlap, first, len(guides), guides.vary, guides.digests())

    def _wanted(self, target: object, n: int) -> np.ndarray:
        classes = self.predictor.classes.tolist()
        if target is None:
            return np.full(n, self.predictor.decision.favourable)
        labels = np.asarray(target).tolist()
        labels = labels if isinstance(labels, list) else [labels] * n
        odd = [label for label in labels if label not in classes]
        if odd or len(labels) != n:
            raise DataError(
                f"reasons: `target` must be a class for each of {n} rows; got {odd[0] if odd else len(labels)!r}. "
                f"Classes are {classes!r}."
            )
        return np.array([classes.index(label) for label in labels])

    def _runner_up(self, table: Table, wanted: np.ndarray) -> np.ndarray:
        """The class that comes nearest, for whoever has the wanted one."""
        if self.predictor.decision.n_classes == 2:
            return 1 - wanted
        logits = np.array(self.predictor.logits(table), np.float64)
        logits[np.arange(len(logits)), wanted] = -np.inf
        return logits.argmax(axis=1)


@hinted()
def reasons(
    model: Estimator,
    X: TableLike,
    schema: Schema | None = None,
    n: int = 4,
    *,
    reference: TableLike | None = None,
    n_reference: int = REFERENCE,
    codes: CodeTable | None = None,
    guides: Models | None = None,
    target: Sequence[Label] | np.ndarray | None = None,
    threshold: float | None = None,
    favourable: Label | None = None,
    random_state: int = 0,
) -> Reasons:
    """Why people were refused: what each feature contributes to the gap between their score and the cut-off.

    A person is compared with people at the cut-off: rows of the reference that are nearest to it on either side,
    weighted so that their mean score is the cut-off itself. The gap is shared out between the features by their
    Shapley values, exactly for linear models, sums of curves and ensembles of trees, and by random orders, with
    standard errors, for any other. Contributions add up to the gap.

    Parameters
    ----------
    model : object
        A RecourseClassifier or Adopted, a Predictor, a scikit-learn classifier or pipeline, or whatever
        `holdtrue.wrap` takes.
    X : dataframe
        People as they are.
    schema : Schema, optional
        What is told as one reason (`group`), and what is never named (`protected`). The model's own when omitted;
        for a model made elsewhere it is guessed then.
    n : int, default=4
        Reasons per person, at most. A feature that does not widen the gap is none.
    reference : dataframe, optional
        Rows that the model knows. When omitted those that it learned from, where it still has them, else `X`.
    n_reference : int, default=100
        How many of the reference's rows to compare with.
    codes : CodeTable, optional
        Codes and sentences for the reasons.
    guides : AbstractRetrained, optional
        What ``holdtrue.retrain`` returned: says of each reason how many retrained models give it too. Those that
        guide the classifier's own recourse when omitted.
    target : array of labels, optional
        The wanted class of each person; the favourable one when omitted.
    threshold, favourable
        The decision of a foreign model: see `holdtrue.wrap`.
    random_state : int, default=0
        Seed of what is sampled.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> bank = ht.datasets.load("loanapp")
    >>> model = GradientBoostingClassifier(n_estimators=5).fit(bank.X, bank.y)
    >>> why = ht.reasons(model, bank.X[:20], bank.schema, reference=bank.X, threshold=0.9)
    >>> bool(abs(why.contributions.sum(axis=1) - why.gap).max() < 1e-9)
    True
    """
    predictor, rows, source = predictor_of(model), reference, GIVEN
    if predictor is None:
        if favourable is None and target is not None:
            favourable = LAST  # what each person wants is said: no class need be the wanted one
        predictor = wrap(model, schema, X if rows is None else rows, threshold=threshold, favourable=favourable)
    elif threshold is not None or favourable is not None:
        raise DataError(
            "reasons: `threshold` and `favourable` are for a bare model; got a classifier that has both."
        )
    if rows is None:
        rows, source = _learned_from(model, predictor), OWN
    if rows is None:
        rows, source = X, ASKED
    if guides is None:
        guides = getattr(getattr(model, "method_", None), "guides_", None)
    made = Reasoner(
        predictor, rows, schema=schema, n=n, n_reference=n_reference, codes=codes, guides=guides,
        random_state=random_state, source=source,
    )  # fmt: skip
    return made.of(as_table(X, where="reasons"), target)


def _learned_from(model: object, predictor: Predictor) -> Table | None:
    """The rows that a classifier learned from, where it was fitted in this process."""
    training = getattr(model, "training_", None)
    if training is None:
        return None
    x = np.asarray(training.data.x, np.float64)
    return Table(predictor.encoder.decode(x), len(x))


def _distinct(wanted: np.ndarray, other: np.ndarray) -> list[tuple[int, int]]:
    return sorted({(int(to), int(away)) for to, away in zip(wanted, other, strict=True)})


def _named(ranked: np.ndarray, n_units: int) -> np.ndarray:
    """Boolean (people, units): which are among the ranked."""
    out = np.zeros((len(ranked), n_units + 1), bool)
    np.put_along_axis(out, np.where(ranked < 0, n_units, ranked), True, axis=1)
    return out[:, :n_units]
