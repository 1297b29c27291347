"""Shares against all coalitions, one by one, and against the shap package."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import holdtrue as ht
from holdtrue.attribution import _sampled, _scores, _trees
from holdtrue.attribution._players import Players
from holdtrue.attribution._scores import score_of
from holdtrue.models import TreesModel

LEVELS = ["low", "mid", "high"]


def pipeline(model):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["income", "debt", "inquiries"]),
        (OneHotEncoder(), ["house", "sex"]),
        (OrdinalEncoder(categories=[LEVELS]), ["grade"]),
    )
    return make_pipeline(columns, model)


def brute_force(margins, x, reference, weights, players):
    """Shapley values by their definition: every set of players takes the person's values."""
    owner, n = players.owner, len(players.names)
    worth = {}
    for taken in itertools.product([False, True], repeat=n):
        mine = np.array(taken)[owner]
        mixed = np.where(mine, x[:, None, :], reference[None])
        worth[taken] = margins(mixed.reshape(-1, x.shape[1])).reshape(len(x), -1) @ weights
    out = np.zeros((len(x), n))
    for taken in worth:
        for i in range(n):
            if not taken[i]:
                size = sum(taken)
                chance = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                with_i = (*taken[:i], True, *taken[i + 1 :])
                out[:, i] += chance * (worth[with_i] - worth[taken])
    return out


def setting(model, people, y, target=1, decided=0, **decision):
    frame, _, _, schema = people
    if not hasattr(model[-1], "classes_"):
        model.fit(frame, y)
    predictor = ht.wrap(model, schema, frame, **decision)
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(frame))
    score = score_of(predictor, players, target, decided, 0)
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(12))
    return predictor, players, score, x[:25], x[40:52], weights


def models():
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    yield "xgboost", pipeline(XGBClassifier(n_estimators=12, max_depth=4, random_state=0)), 2, 2
    yield "xgboost, 3 classes", pipeline(XGBClassifier(n_estimators=5, max_depth=3, random_state=0)), 3, 2
    yield "lightgbm", pipeline(LGBMClassifier(n_estimators=6, num_leaves=20, verbose=-1, random_state=0)), 2, 2
    yield "forest", pipeline(RandomForestClassifier(n_estimators=8, random_state=0)), 2, 2
    yield "forest, first class", pipeline(RandomForestClassifier(n_estimators=8, random_state=0)), 2, 0
    yield "forest, 3 classes", pipeline(RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0)), 3, 2
    yield "boosting", pipeline(GradientBoostingClassifier(n_estimators=8, random_state=0)), 2, 0
    yield "histogram", pipeline(HistGradientBoostingClassifier(max_iter=6, random_state=0)), 3, 2
    yield "logistic", pipeline(LogisticRegression()), 2, 2
    yield "logistic, 3 classes", pipeline(LogisticRegression()), 3, 2


CASES = list(models())


@pytest.mark.parametrize(("model", "k", "favourable"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_exact_shares_are_those_of_all_coalitions(people, model, k, favourable, monkeypatch):
    y = people[1] if k == 2 else people[2]
    decision = {"favourable": 0} if favourable == 0 else {"favourable": "(last)"}
    target, decided = (0, 1) if favourable == 0 else (k - 1, 0)
    predictor, players, score, x, reference, weights = setting(model, people, y, target, decided, **decision)
    truth = brute_force(score.margins, x, reference, weights, players)
    shares, errors = score.against(reference, weights)(x)
    assert errors is None
    assert score.how.startswith("exact")
    np.testing.assert_allclose(shares, truth, atol=1e-9)
    np.testing.assert_allclose(
        shares.sum(axis=1), score.margins(x) - weights @ score.margins(reference), atol=1e-9
    )
    if isinstance(predictor.decision.model, TreesModel):  # the way for long paths gives the same
        monkeypatch.setattr(_trees, "MOST_ENTRIES", 0)
        np.testing.assert_allclose(score.against(reference, weights)(x)[0], truth, atol=1e-9)


@pytest.mark.parametrize(("model", "k"), [c[1:3] for c in CASES], ids=[c[0] for c in CASES])
def test_the_cut_off_is_the_decisions(people, model, k):
    y, frame = (people[1] if k == 2 else people[2]), people[0]
    level = {"threshold": 0.6} if k == 2 else {"favourable": "(last)"}
    predictor, players, _, _, _, _ = setting(model, people, y, **level)
    x = predictor.encoder.encode(predictor.encoder.schema.check(frame))
    decided = predictor.decide(predictor.encoder.schema.check(frame))
    logits = predictor.logits_of(x)
    for target, away in [(1, 0), (0, 1)] if k == 2 else [(2, 0), (1, 2)]:
        margins = score_of(predictor, players, target, away, 0).margins(x)
        if k == 2:
            assert ((margins >= -1e-6) == (decided == target)).all()
        else:  # probabilities or logits: their order is the same
            clear = np.abs(logits[:, target] - logits[:, away]) > 1e-5
            assert ((margins > 0) == (logits[:, target] > logits[:, away]))[clear].all()


@pytest.mark.parametrize("deep", [False, True])
def test_shares_are_those_of_the_shap_package(people, deep):
    shap = pytest.importorskip("shap")
    from xgboost import XGBClassifier

    frame, y, _, _ = people
    numbers = frame[["income", "debt", "inquiries"]].assign(
        extra=np.arange(len(frame)) % 17, other=frame.income * 0.3 + np.arange(len(frame)) % 5
    )
    model = XGBClassifier(n_estimators=30, max_depth=9 if deep else 4, random_state=0).fit(numbers, y)
    schema = ht.Schema.infer(numbers)
    predictor = ht.wrap(model, schema, numbers)
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(numbers))
    score = score_of(predictor, players, 1, 0, 0)
    ours, _ = score.against(x[:40], np.full(40, 1 / 40))(x[40:90])
    explainer = shap.TreeExplainer(model, numbers[:40], feature_perturbation="interventional")
    # What shap leaves to rounding in float32.
    np.testing.assert_allclose(ours, explainer.shap_values(numbers[40:90]), atol=2e-6)


def test_many_features_on_a_path(monkeypatch):
    """Deep trees over many columns: pair by pair and by tables the same, and both add up."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 14)), columns=[f"c{i}" for i in range(14)])
    y = (np.sin(frame).sum(axis=1) > 0).astype(int)
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(frame, y)
    predictor = ht.wrap(forest, None, frame)
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(frame))
    score = score_of(predictor, players, 1, 0, 0)
    assert score.paths.n_on_path.max() > _trees.MOST_BITS
    weights = np.full(30, 1 / 30)
    shares, _ = score.against(x[:30], weights)(x[30:60])
    np.testing.assert_allclose(
        shares.sum(axis=1), score.margins(x[30:60]) - weights @ score.margins(x[:30]), atol=1e-12
    )
    monkeypatch.setattr(_trees, "MOST_ENTRIES", 0)
    np.testing.assert_allclose(score.against(x[:30], weights)(x[30:60])[0], shares, atol=1e-12)


@pytest.fixture
def network(people):
    model = pipeline(MLPClassifier((6,), max_iter=400, random_state=1, early_stopping=True))
    return setting(model, people, people[1])


def test_few_players_are_shared_out_by_all_their_sets(network):
    _, players, score, x, reference, weights = network
    shares, errors = score.against(reference, weights)(x)
    assert errors is None
    assert score.how == "exact (all sets of features)"
    np.testing.assert_allclose(shares, brute_force(score.margins, x, reference, weights, players), atol=1e-5)


def test_sampled_shares_add_up_and_state_their_errors(network, monkeypatch):
    """Over many seeds the spread of an estimate is the error that it states."""
    monkeypatch.setattr(_sampled, "FEW", 0)
    predictor, players, score, x, reference, weights = network
    truth = brute_force(score.margins, x[:5], reference, weights, players)
    off, said = [], []
    for seed in range(60):
        other = score_of(predictor, players, 1, 0, seed)
        assert other.how == "sampled"
        shares, errors = other.against(reference, weights)(x[:5])
        off.append(shares - truth)
        said.append(errors**2)
    gap = score.margins(x[:5]) - weights @ score.margins(reference)
    np.testing.assert_allclose(shares.sum(axis=1), gap, atol=1e-5)
    assert 0.7 < np.mean(np.square(off)) / np.mean(said) < 1.4
    spread = np.sqrt(np.mean(np.square(off), axis=0))
    assert (np.abs(np.mean(off, axis=0)) < 4 * spread / np.sqrt(60) + 1e-6).all()  # and is not off on one side


@pytest.mark.parametrize("kind", [ht.MLP(widths=(8, 4)), ht.PiecewiseMLP(n_pieces=3, widths=(8, 4))])
def test_the_short_way_through_a_network_gives_what_asking_about_every_row_gives(kind, people, monkeypatch):
    frame, y, _, schema = people
    regime = ht.StandardTraining(n_epochs=3)
    clf = ht.RecourseClassifier(schema=schema, model=kind, regime=regime, hold=None, random_state=0).fit(frame, y)
    predictor = clf.predictor_
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(frame))
    monkeypatch.setattr(_sampled, "FEW", 0)
    score, weights = score_of(predictor, players, 1, 0, 0), np.full(7, 1 / 7)
    shares, errors = score.against(x[20:27], weights)(x[:19])
    monkeypatch.setattr(_scores, "along_network", lambda *_: None)
    by_rows, errors_by_rows = score.against(x[20:27], weights)(x[:19])
    assert np.abs(by_rows).max() > 0.01
    np.testing.assert_allclose(shares, by_rows, atol=2e-6)
    np.testing.assert_allclose(errors, errors_by_rows, atol=2e-6)


def test_curves_of_numbers_are_shared_out_exactly():
    """A power transformer before a logistic regression: what a column adds is its weight times its curve."""
    from sklearn.preprocessing import PowerTransformer

    bank = ht.datasets.load("loanapp")
    columns = ["loanprc", "obrat", "atotinc"]
    X, schema = bank.X[columns], ht.Schema([bank.schema[name] for name in columns])
    model = make_pipeline(PowerTransformer(), LogisticRegression()).fit(X, bank.y)
    clf = ht.adopt(model, schema, reference=X)
    refused = X[model.predict(X) == 0][:5]
    players = Players(clf.predictor_.encoder.schema, clf.predictor_.encoder.layout)
    score = score_of(clf.predictor_, players, 1, 0, 0)
    rows, known = (clf.predictor_.encoder.encode(clf._read(part)) for part in (refused, X[:50]))
    shares, _ = score.against(known, np.full(50, 1 / 50))(rows)
    bent = model[:-1].transform(refused) - model[:-1].transform(X[:50]).mean(axis=0)
    np.testing.assert_allclose(shares, bent * model[-1].coef_[0], atol=2e-3)
    np.testing.assert_allclose(score.margins(rows), model.decision_function(refused), atol=2e-3)


@pytest.mark.parametrize("k", [2, 3])
def test_the_default_models_columns_are_shared_out_exactly(k, people):
    frame, two, three, schema = people
    labels = two if k == 2 else three
    clf = ht.RecourseClassifier(schema=schema, favourable=ht.schema.LAST, threshold=0.4, hold=None, random_state=0)
    clf = clf.fit(frame, labels) if k == 2 else clf.set_params(threshold=0.5).fit(frame, labels)
    predictor = clf.predictor_
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(frame))
    target, decided = k - 1, 0
    score = score_of(predictor, players, target, decided, 0)
    assert score.how == "exact (columns add up)"
    asked = _scores.SampledScore(predictor, players, target, decided, 0).margins  # the model itself, in float32
    np.testing.assert_allclose(score.margins(x), asked(x), atol=2e-5)
    rows, reference, weights = x[:20], x[40:52], np.random.default_rng(1).dirichlet(np.ones(12))
    shares, errors = score.against(reference, weights)(rows)
    assert errors is None
    assert np.abs(shares).max() > 0.1
    np.testing.assert_allclose(shares, brute_force(asked, rows, reference, weights, players), atol=1e-4)
    gap = score.margins(rows) - weights @ score.margins(reference)
    np.testing.assert_allclose(shares.sum(axis=1), gap, atol=1e-9)
