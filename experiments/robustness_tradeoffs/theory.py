"""Both sides of the theorems of *Robustness trade-offs*: 200,000 random instances, and people of three datasets.

    python -m experiments.robustness_tradeoffs.theory [--instances 200000] [--splits 3] [--rows 8000]
        [--people 200]

No speed but truth: how often each form is violated, how often it applies, and how much of it is filled. Instances
spread over several orders of magnitude. People are the test rows of German Credit, COMPAS and Adult, under the
gradient descent of Lemma 1 (linear models), under NTK models of plain and of attacked rows, and codes of a VAE.
Datasets that are not installed are left out, and the result says which were there.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import holdtrue as ht
from benchmarks._common import record
from experiments import experiment
from experiments.robustness_tradeoffs._settings import THEOREM_3
from holdtrue.encoding import Encoder, Permits
from holdtrue.metrics import tradeoffs as t
from holdtrue.models import NTK, Data, LinearModel, Rows, build_vae, double_precision, ntk
from holdtrue.schema import as_table
from holdtrue.training import AdversarialTraining, TrainingContext

DATASETS = ("german_credit", "compas", "adult")
RADII = (0.02, 0.05, 0.1, 0.2)
EPOCHS = (10, 100, 1000)  # after one step from zero the adversary has not moved anything yet
AIMS = tuple(itertools.product((0.0, 1.0), (0.01, 0.1, 1.0)))  # score, cost weight
COLUMNS = (1, 2, 5, 20)
FEW = 20  # people whose true minimiser is sought


class Tally:
    """Counts of many `Bound`s or `Condition`s, form by form."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, list[Any]]] = {}

    def add(self, name: str, sides: t.Bound | t.Condition) -> None:
        """Count what both sides say of each form."""
        for form in sides.forms:
            kept = self.seen.setdefault(name, {}).setdefault(form, [0, 0, 0, []])
            applies = sides.applies(form)
            kept[0] += applies.size
            kept[1] += int(applies.sum())
            kept[2] += int(sides.violated(form).sum())
            ratio = sides.tightness(form) if isinstance(sides, t.Bound) else ~sides.concluded
            kept[3].append(np.ravel(ratio).astype(np.float32 if isinstance(sides, t.Bound) else bool))

    def values(self) -> dict[str, dict[str, Any]]:
        """Counts and ratios by name and form."""
        return {name: {f: self._one(*kept) for f, kept in forms.items()} for name, forms in self.seen.items()}

    @staticmethod
    def _one(cases: int, applies: int, violations: int, ratios: list[np.ndarray]) -> dict[str, Any]:
        ratio = np.concatenate(ratios)
        out: dict[str, Any] = {"cases": cases, "applies": applies / cases, "violations": violations}
        if ratio.dtype == bool:
            return out | {"conclusion false": float(ratio.mean())}
        ratio = ratio[np.isfinite(ratio)]
        if ratio.size:
            out |= {"filled (median)": float(np.median(ratio)), "filled (largest)": float(ratio.max())}
        return out


def spread(rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Positive numbers, even in their logarithm."""
    return 10 ** rng.uniform(low, high, shape)


# ---- random instances ----------------------------------------------------------------------------------


def random_linear(tally: Tally, rng: np.random.Generator, n: int) -> None:
    """Theorems 1, 2 and 4 for random linear models."""
    for d in COLUMNS:
        size = n // len(COLUMNS)
        w = rng.normal(size=(size, d)) * spread(rng, (size, 1), -2, 2)
        far = rng.normal(size=(size, d)) * spread(rng, (size, 1), -2, 2)
        step = rng.normal(size=(size, d)) * spread(rng, (size, 1), -4, 0.3)
        v = np.where(rng.random((size, 1)) < 0.5, far, w + np.linalg.norm(w, axis=1, keepdims=True) * step)
        x = rng.normal(size=(size, d)) * spread(rng, (size, 1), -1, 1)
        bias = rng.normal(size=(2, size)) * (rng.random(size) < 0.5)
        a, b = t.affine(w, x, bias[0]), t.affine(v, x, bias[1])
        how = {
            "score": rng.normal(size=size) * spread(rng, (size,), -1, 1),
            "cost_weight": spread(rng, (size,), -4, 2),
        }
        tally.add("Theorem 1", t.theorem_1(a, b, x, **how))
        tally.add("Theorem 1, costs of Definition 1", t.theorem_1(a, b, x, costs="definition", **how))
        tally.add("Theorem 2, linearised", t.theorem_2(a, b, **how))
        tally.add("Theorem 4", t.theorem_4(a, b, x, *(x + t.scfe(s, **how) for s in (a, b))))


def random_descents(tally: Tally, rng: np.random.Generator, n: int) -> None:
    """Lemma 1 for descents on random rows."""
    for d, n_epochs, norm in itertools.product((1, 4), (1, 20), ("linf", "l2")):
        size, m = n // 8, 6
        x = rng.normal(size=(size, m, d)) * spread(rng, (size, 1, 1), -1, 1)
        y = np.where(rng.random((size, m)) < 0.5, 1.0, -1.0)
        radius, step = spread(rng, (size,), -3, 0.5), spread(rng, (size,), -2, 1)
        start = rng.normal(size=(size, d)) * (rng.random((size, 1)) < 0.5)
        how: dict[str, Any] = {"step_size": step, "n_epochs": n_epochs, "start": start, "norm": norm}
        w, v = t.descend(x, y, **how), t.descend(x, y, radius=radius, **how)
        one = {"people": x[:, :1], "labels": y[:, :1]}  # one person per descent
        tally.add("Lemma 1", t.lemma_1(w, v, x, y, radius=radius, **how, **one))


def random_kernels(tally: Tally, rng: np.random.Generator, n: int) -> None:
    """Lemma 2 and what follows from it for kernel models of random rows."""
    size, m, d = n, 5, 3
    x = rng.normal(size=(size, m, d)) * spread(rng, (size, 1, 1), -1, 1)
    moved = x + rng.normal(size=x.shape) * spread(rng, (size, 1, 1), -4, 1)
    points = x[:, 0] + rng.normal(size=(2, size, d)) * spread(rng, (2, size, 1), -2, 1)
    y = np.where(rng.random((size, m)) < 0.5, 1.0, -1.0)
    beta = spread(rng, (size,), -2, 1)
    with double_precision():
        gram = jax.jit(jax.vmap(lambda z, to: jax.vmap(lambda row: ntk(row, to))(z)))
        first, second = (np.asarray(gram(jnp.asarray(z), jnp.asarray(z))) for z in (x, moved))
        k_n, k_r = (
            np.asarray(gram(jnp.asarray(p[:, None]), jnp.asarray(z)))[:, 0]
            for p, z in zip(points, (x, moved), strict=True)
        )
    tally.add("Lemma 2", t.dual_gap(first, second, y, beta=beta))
    ridge = beta[:, None, None] * np.eye(m)
    a, b = (np.linalg.solve(k + ridge, y[..., None])[..., 0] for k in (first, second))
    tally.add("Theorem 5", t.validity_condition(k_n, k_r, a, b))


def random_decoders(tally: Tally, rng: np.random.Generator, n: int, n_decoders: int = 40) -> None:
    """Untrained decoders of a mixed table, enlarged at random, and pairs of codes."""
    features = [ht.Feature(name=f"n{i}", kind="numeric", bounds=(0, 1)) for i in range(4)]
    features += [ht.Feature(name=f"c{i}", kind="categorical", levels=tuple("abcd"[: i + 2])) for i in range(3)]
    table = {f"n{i}": rng.random(50) for i in range(4)}
    table |= {f"c{i}": rng.choice(list("abcd"[: i + 2]), 50) for i in range(3)}
    encoder = Encoder.fit(ht.Schema(features), as_table(table))
    rows = encoder.encode(as_table(table)).astype(np.float32)
    for i in range(n_decoders):
        model = build_vae(Rows.of(encoder, rows), (16, 8), 3, (0, 5), jax.random.key(i))
        model = jax.tree.map(lambda leaf: leaf * np.float32(spread(rng, (), -0.5, 0.7)), model)
        people = rows[rng.integers(0, 50, n // n_decoders)]
        own = np.asarray(jax.vmap(model.encode)(jnp.asarray(people)))
        codes = [own + rng.normal(size=own.shape) * spread(rng, (len(own), 1), -2, 1) for _ in range(2)]
        tally.add("Theorem 3", t.theorem_3(model, people, *codes))


# ---- people --------------------------------------------------------------------------------------------


def installed() -> Iterator[tuple[str, np.ndarray, np.ndarray, Encoder]]:
    """Encoded datasets of the paper that are there."""
    for name in DATASETS:
        try:
            data = ht.datasets.load(name)
        except ht.errors.DataError:
            continue
        table = as_table(data.X)
        assert data.schema is not None
        encoder = Encoder.fit(data.schema, table)
        yield (
            name,
            encoder.encode(table),
            np.where(np.asarray(data.y) == np.unique(data.y)[-1], 1.0, -1.0),
            encoder,
        )


def split(x: np.ndarray, y: np.ndarray, seed: int, rows: int) -> tuple[np.ndarray, ...]:
    """Training rows, their labels of -1 and 1, and the same of the test rows."""
    order = np.random.default_rng(seed).permutation(len(x))
    cut = int(0.8 * len(x))
    train, test = order[:cut][:rows], order[cut:]
    return x[train], y[train], x[test], y[test]


def people_linear(tally: Tally, name: str, x: np.ndarray, y: np.ndarray, seed: int, rows: int) -> None:
    """Lemma 1 and the theorems for the people of a dataset."""
    train, labels, people, truth = split(x, y, seed, rows)
    how: dict[str, Any] = {"step_size": 0.1}
    plain, pairs = np.zeros(x.shape[1]), {radius: np.zeros(x.shape[1]) for radius in RADII}
    done = 0
    for n_epochs in EPOCHS:
        plain = t.descend(train, labels, n_epochs=n_epochs - done, start=plain, **how)
        for radius in RADII:
            pairs[radius] = t.descend(
                train, labels, radius=radius, n_epochs=n_epochs - done, start=pairs[radius], **how
            )
            lemma = t.lemma_1(
                plain,
                pairs[radius],
                train,
                labels,
                radius=radius,
                n_epochs=n_epochs,
                people=people,
                labels=truth,
                **how,
            )
            tally.add(f"{name}: Lemma 1", lemma)
            a, b = t.affine(plain, people), t.affine(pairs[radius], people)
            stable, gap = lemma.right("stable")[0], lemma.right("corrected")[0]
            refused = (a.value < 0) & (b.value < 0)
            for score, cost_weight in AIMS:
                aim: dict[str, Any] = {"score": score, "cost_weight": cost_weight}
                tally.add(f"{name}: Theorem 1, own distance", t.theorem_1(a, b, people, **aim))
                tally.add(f"{name}: Theorem 1, Lemma 1's gap", t.theorem_1(a, b, people, gap=gap, **aim))
                tally.add(f"{name}: Theorem 1, Lemma 1's stable gap", t.theorem_1(a, b, people, gap=stable, **aim))
                if not refused.any():
                    continue
                some, some_a, some_b = (
                    people[refused],
                    t.Scores(*(p[refused] for p in a)),
                    t.Scores(*(p[refused] for p in b)),
                )
                points = [some + t.scfe(s, **aim) for s in (some_a, some_b)]
                both = f"{name}: Theorem 4, refused by both, s = {score:g}"
                tally.add(f"{both}, own distance", t.theorem_4(some_a, some_b, some, *points))
                tally.add(f"{both}, Lemma 1's gap", t.theorem_4(some_a, some_b, some, *points, gap=gap))
                tally.add(f"{name}: Theorem 1, refused by both, s = {score:g}, weight {cost_weight:g}",
                          t.theorem_1(some_a, some_b, some, **aim))  # fmt: skip
        done = n_epochs


def people_kernel(
    tally: Tally, name: str, x: np.ndarray, y: np.ndarray, encoder: Encoder, rows: int = 800, seed: int = 0
) -> dict[str, Any]:
    """NTK of plain and of attacked rows. (The second one is not robust: see `robust_kernel`.)"""
    train, labels, people, _ = split(x, y, seed, rows)
    data = Data(jnp.asarray(train, jnp.float32), jnp.asarray(labels > 0, jnp.int32), jnp.ones(len(train)))
    context, key = TrainingContext(Permits.of(encoder), 1), jax.random.key(0)
    blank = NTK().build(x.shape[1], 2, key)
    plain: Any = AdversarialTraining(radius=0.0).solve(blank, data, key, context)[0]
    robust: Any = plain
    for radius in RADII[1:]:
        robust = AdversarialTraining(radius=radius, n_steps=10).solve(blank, data, key, context)[0]
        lemma = t.lemma_2(np.asarray(plain.rows), np.asarray(robust.rows), labels, beta=1.0)
        tally.add(f"{name}: Lemma 2", lemma)
        a, b = t.scores_of(plain, people), t.scores_of(robust, people)
        for score, cost_weight in AIMS:
            aim: dict[str, Any] = {"score": score, "cost_weight": cost_weight}
            tally.add(f"{name}: Theorem 2, linearised, s = {score:g}", t.theorem_2(a, b, **aim))
            points = [people + t.scfe(s, **aim) for s in (a, b)]
            tally.add(f"{name}: Theorem 5, own distance", t.theorem_5(plain, robust, *points))
            gap = float(lemma.right("printed"))
            tally.add(f"{name}: Theorem 5, Lemma 2's gap", t.theorem_5(plain, robust, *points, gap=gap))
    share = []
    for row in people[:FEW]:
        changes = [true_change(m, row, 1.0, 0.1) for m in (plain, robust)]
        a, b = t.scores_of(plain, row[None]), t.scores_of(robust, row[None])
        aim = {"score": 1.0, "cost_weight": 0.1, "changes": (changes[0][None], changes[1][None])}
        tally.add(f"{name}: Theorem 2, true minimiser, s = 1, weight 0.1", t.theorem_2(a, b, **aim))
        tangent = [t.scfe(s, score=1.0, cost_weight=0.1)[0] for s in (a, b)]
        share += [np.linalg.norm(z) / np.linalg.norm(c) for z, c in zip(tangent, changes, strict=True)]
    quantiles = dict(zip(("5%", "50%", "95%"), np.quantile(share, (0.05, 0.5, 0.95)), strict=True))
    return {"people": len(people), "cost by the tangent over true cost": quantiles}


def true_change(model: Any, row: np.ndarray, aim: float, cost_weight: float) -> np.ndarray:
    """Minimise SCFE's own objective, from the person on."""

    def loss(change: np.ndarray) -> tuple[float, np.ndarray]:
        scores = t.scores_of(model, (row + change)[None])
        missing = scores.value[0] - aim
        value = missing**2 + cost_weight * change @ change
        return value, 2 * missing * scores.slope[0] + 2 * cost_weight * change

    return minimize(loss, np.zeros_like(row), jac=True, method="L-BFGS-B", options={"maxiter": 60}).x


def people_codes(
    tally: Tally,
    name: str,
    X: Any,
    y: np.ndarray,
    schema: ht.Schema,
    n_people: int,
    *,
    seed: int = 0,
    radii: tuple[float, ...] = RADII[:1],
) -> dict[str, Any]:
    """C-CHVAE's search by l1 shells, kept as codes: 300 draws each, .1 wide, under pairs of linear models: a plain
    one and one trained against an attack of each radius."""
    how = {"schema": schema, "model": ht.Linear(), "random_state": seed}
    quick = {"n_epochs": 30, "step_size": 0.01}
    clf = ht.RecourseClassifier(**how, regime=ht.StandardTraining(**quick)).fit(X, y)
    generator = ht.CCHVAE(n_epochs=20, random_state=seed).fit(clf, X).generator()
    x = clf.predictor_.encoder.encode(as_table(X))
    told: dict[str, Any] = {"Lipschitz": t.decoder_lipschitz(generator)}
    for radius in radii:
        regime = AdversarialTraining(radius=radius, **quick)
        other = ht.RecourseClassifier(**how, regime=regime).fit(X, y)
        models: list[Any] = [c.predictor_.decision.model for c in (clf, other)]
        refused = np.all([t.scores_of(m, x).value < 0 for m in models], axis=0)
        people = x[refused][:n_people].astype(np.float32)
        codes, radii_of, served = shells(generator, models, people)
        if served.any():
            bound = t.theorem_3(generator, people[served], *codes, radii=(radii_of[0], radii_of[1]))
            tally.add(f"{name}: {THEOREM_3[radius]}", bound)
        told[f"radius {radius:g}"] = {"refused by both": len(people), "served": int(served.sum())}
    return told


def shells(generator: Any, models: list[Any], people: np.ndarray) -> tuple[list[Any], list[Any], np.ndarray]:
    """By model the first codes that it accepts and their l1 radii, of those people whom all of them serve."""

    @jax.jit
    def search(model: LinearModel, row: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        side = jax.random.normal(key, (100, 300, generator.encode(row).shape[0]))
        radius = 0.1 * (jnp.arange(100)[:, None] + jax.random.uniform(key, (100, 300)))
        codes = generator.encode(row) + radius[..., None] * side / jnp.abs(side).sum(axis=-1, keepdims=True)

        def accepted(code: jax.Array) -> jax.Array:
            logits = model.logits(generator.decode(code, row))
            return logits[1] >= logits[0]

        yes = jax.lax.map(jax.vmap(accepted), codes)
        first = jnp.argmax(yes.reshape(-1))  # shells are in order of their radius
        return codes.reshape(-1, codes.shape[-1])[first], radius.reshape(-1)[first], yes.any()

    found = [[search(m, jnp.asarray(row), jax.random.key(i)) for i, row in enumerate(people)] for m in models]
    served = np.array([all(bool(f[2]) for f in of_person) for of_person in zip(*found, strict=True)], bool)
    codes, radii = ([np.array([f[i] for f in side])[served] for side in found] for i in (0, 1))
    return codes, radii, served


def main() -> None:
    """Run all of it, and write what is there after each dataset."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--instances", type=int, default=200_000)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--people", type=int, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    command = (
        f"python -m experiments.robustness_tradeoffs.theory --instances {options.instances} "
        f"--splits {options.splits} --rows {options.rows} --people {options.people}"
    )
    random, people = Tally(), Tally()
    for draw in (random_linear, random_descents, random_kernels, random_decoders):
        draw(random, rng, options.instances)
        print(draw.__name__, flush=True)
    values: dict[str, Any] = {"random instances": random.values(), "people": {}, "NTK": {}, "codes": {}}
    record("theory", command, values, folder=experiment("robustness-tradeoffs").results, shown=False)
    for name, x, y, encoder in installed():
        values["NTK"][name] = people_kernel(people, name, x, y, encoder)
        data = ht.datasets.load(name)
        assert data.schema is not None
        first, truth = data.X[:4000], np.asarray(data.y)[:4000]
        values["codes"][name] = people_codes(people, name, first, truth, data.schema, options.people)
        for seed in range(options.splits):
            people_linear(people, name, x, y, seed, options.rows)
        values["people"] = people.values()
        record("theory", command, values, folder=experiment("robustness-tradeoffs").results, shown=False)
        print(name, flush=True)
    for where in ("random instances", "people"):
        print(f"\n{where}")
        for name, forms in values[where].items():
            for form, told in forms.items():
                told = {k: f"{v:.4g}" for k, v in told.items()}
                print(f"  {name:<58} {form:<10} " + "  ".join(f"{k} {v}" for k, v in told.items()))


if __name__ == "__main__":
    main()
