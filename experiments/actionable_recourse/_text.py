"""B.4: sentences, where an action replaces one word. Averaged embeddings of words and of pairs of words."""

from collections import Counter
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from experiments._report import Clock
from experiments.actionable_recourse._evaluate import best_f1, performance, recourse
from experiments.actionable_recourse._models import act, scores, spread
from experiments.actionable_recourse._words import substitutes
from holdtrue.datasets import load
from holdtrue.models import AbstractModel, Data, fit
from holdtrue.search import CandidateAction
from holdtrue.training import RecourseStep

LENGTH = 56  # words of the longest sentence
WIDTH, PAIRS = 32, 2**15
PER_WORD = 4  # substitutes of one word, the direct antonyms first
CANDIDATES = 10  # actions of one sentence, in training and as the paper asks (n = 10)
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
N_EPOCHS, BATCH, STEP, DECAY = 12, 32, 0.003, 0.01


class NgramModel(AbstractModel):
    """Mean embedding of the words and of the pairs of neighbouring words, and a linear layer on it.

    A row holds the numbers of the words, padded with 0. Pairs share `PAIRS` rows by their hash.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    words: Float[Array, "v e"]
    pairs: Float[Array, "h e"]
    layer: Float[Array, "2 e"]
    bias: Float[Array, " 2"]
    dropout: float = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Two."""
        return 2

    @property
    def random_in_training(self) -> bool:
        """Words are left out in training."""
        return self.dropout > 0

    def logits(self, x: Float[Array, " l"], *, key: PRNGKeyArray | None = None) -> Float[Array, " 2"]:
        """Logits of one sentence; with a `key`, a share of its words is left out."""
        word = x.astype(jnp.int32)
        seen = (word > 0).astype(jnp.float32)
        if key is not None:
            seen = seen * jax.random.bernoulli(key, 1 - self.dropout, seen.shape)
        both = seen[:-1] * seen[1:]
        pair = (word[:-1] * 7919 + word[1:] * 104729) % self.pairs.shape[0]
        total = seen @ self.words[word] + both @ self.pairs[pair]
        return self.layer @ (total / jnp.maximum(seen.sum() + both.sum(), 1.0)) + self.bias


def build(n_words: int, key: PRNGKeyArray) -> NgramModel:
    """Untrained model."""
    one, two, three = jax.random.split(key, 3)
    return NgramModel(
        0.1 * jax.random.normal(one, (n_words, WIDTH)), 0.1 * jax.random.normal(two, (PAIRS, WIDTH)),
        jax.random.normal(three, (2, WIDTH)), jnp.zeros(2), 0.3,
    )  # fmt: skip


class Substitutions(eqx.Module):
    """The first `n` sentences that one replaced word leads to, in the order of the words."""

    table: Int[Array, "v k"]
    n: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " l"]) -> Float[Array, "n l"]:
        """Sentences after each action; the sentence itself where there are fewer."""
        others = self.table[x.astype(jnp.int32)].reshape(-1)
        at = jnp.repeat(jnp.arange(x.shape[0]), self.table.shape[1])
        first = jnp.argsort(others == 0, stable=True)[: self.n]
        place, word = at[first], others[first].astype(x.dtype)
        there = jnp.arange(x.shape[0]) == place[:, None]
        return jnp.where(there & (word > 0)[:, None], word[:, None], x)


class Corpus:
    """Sentences as numbers of words; 1 stands for words that training does not have."""

    def __init__(self) -> None:
        data = load("sst")
        part = np.asarray(data.groups["split"])  # type: ignore[index]
        sentences = [str(s).lower().split() for s in data.X["sentence"]]
        counts = Counter(w for s, p in zip(sentences, part, strict=True) if p == "train" for w in s)
        self.words = ["", "?", *sorted(w for w, n in counts.items() if n >= 2)]
        self.number = {w: i for i, w in enumerate(self.words)}
        rows = np.zeros((len(sentences), LENGTH), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            known = [self.number.get(w, 1) for w in sentence[:LENGTH]]
            row[: len(known)] = known
        y = np.asarray(data.y)
        self.parts = {p: (rows[part == p], y[part == p]) for p in ("train", "dev", "test")}

    def table(self, kind: str, per_word: int = PER_WORD) -> np.ndarray:
        """Substitutes of every word, as numbers; 0 fills up. Only words that training has can take a place."""
        known = substitutes()[kind]
        table = np.zeros((len(self.words), per_word), np.int32)
        for i, word in enumerate(self.words):
            others = [self.number[o] for o in known.get(word, []) if o in self.number][:per_word]
            table[i, : len(others)] = others
        return table

    def read(self, row: np.ndarray) -> str:
        """The words of a row."""
        return " ".join(self.words[int(i)] for i in row if i > 0)


def train(corpus: Corpus, weight: float, table: np.ndarray, seed: int) -> AbstractModel:
    """One model, of the epoch with the lowest loss on the development sentences."""
    start, key = jax.random.split(jax.random.key(seed))
    size, decay, owed = (jnp.asarray(v, jnp.float32) for v in (STEP, DECAY, weight))
    step = RecourseStep(size, decay, owed, CandidateAction(Substitutions(jnp.asarray(table), CANDIDATES)), 1)
    data = {
        p: Data(jnp.asarray(x), jnp.asarray(y, jnp.int32), jnp.ones(len(y))) for p, (x, y) in corpus.parts.items()
    }
    model, _ = fit(
        build(len(corpus.words), start), step, data["train"], key, n_epochs=N_EPOCHS, batch_size=BATCH,
        validation=data["dev"], patience=N_EPOCHS,
    )  # fmt: skip
    return model


def run_text(*, n_splits: int, quick: bool, clock: Clock) -> dict[str, Any]:
    """Rate of recourse against lambda on the Stanford Sentiment Treebank, with its own split; seeds vary."""
    corpus = Corpus()
    tables = {kind: corpus.table(kind) for kind in ("antonyms", "synonyms")}
    weights, seeds = (0.0, 0.25) if quick else WEIGHTS, range(1 if quick else n_splits)
    clock(f"{len(weights)} values of lambda, {len(seeds)} seeds")

    def one(job: tuple[float, int]) -> dict[str, Any]:
        return _one(corpus, tables, train(corpus, job[0], tables["antonyms"], job[1]))

    done = spread(one, [(weight, seed) for weight in weights for seed in seeds])
    found = {f"{weight:g}": [done[weight, seed] for seed in seeds] for weight in weights}
    return {
        "n_words": len(corpus.words),
        "with_antonym": float(np.mean([(t > 0).any() for t in tables["antonyms"]])),
        "weights": found,
    }


def _one(corpus: Corpus, tables: dict[str, np.ndarray], model: AbstractModel) -> dict[str, Any]:
    (held, y_held), (x, y) = corpus.parts["dev"], corpus.parts["test"]
    threshold = best_f1(y_held, scores(model, held))
    score = scores(model, x)
    out: dict[str, Any] = {"performance": performance(y, score, threshold), "recourse": {}}
    asked = {
        "antonyms": (tables["antonyms"], CANDIDATES),
        "antonyms, all": (tables["antonyms"], LENGTH * PER_WORD),
        "synonyms": (tables["synonyms"], CANDIDATES),
    }
    for name, (table, n) in asked.items():
        rows = act(CandidateAction(Substitutions(jnp.asarray(table), n)), model, x)
        after = scores(model, rows)
        out["recourse"][name] = recourse(score, after, threshold)
        if name == "antonyms":
            who = np.flatnonzero((score < threshold) & (after >= threshold) & ((x > 0).sum(axis=1) < 14))
            out["examples"] = [[corpus.read(x[i]), corpus.read(rows[i])] for i in who[:3]]
    return out
