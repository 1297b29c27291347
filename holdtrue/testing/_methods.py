"""What every recourse method must keep. One fixture gives a new method all of these tests."""

import inspect
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from holdtrue.batch import solve
from holdtrue.encoding import broken_limits, feasible_sets
from holdtrue.errors import CapabilityError
from holdtrue.methods import AbstractMethod, AbstractSolverMethod, RecourseFrame, method, name_of
from holdtrue.models import fresh
from holdtrue.schema import TableLike, as_table, normalise_restrictions
from holdtrue.search import Problem, Status, by_feature, iterate
from holdtrue.testing import _world as world

ALONE = 6  # people who are searched for one by one


_FITTED: dict[Any, tuple[Any, AbstractMethod]] = {}
_KNOWN: dict[Any, RecourseFrame] = {}


class MethodChecks:
    """Derive a test class from this and give it a fixture `method` that returns a configured method.

    Examples
    --------
    ::

        class TestMine(MethodChecks):
            @pytest.fixture
            def method(self):
                return MyMethod()
    """

    n_people = 16
    """Whom a check looks at: as many as the smallest batch holds, so that few programs are compiled."""

    def classifier(self, method: AbstractMethod, **options: object) -> Any:
        """A classifier of the small world that the method can serve."""
        kind = ("generator",) if "generator" in method.needs else ()
        return world.classifier(*kind, **options)

    def limited(self, method: AbstractMethod) -> bool:
        """Whether options, black boxes and the one-person loop are asked about where limits across features bind.

        Repairing what breaks such a limit is most of a search's program, and is the same code in every search: who
        checks many methods may ask some of them there, and the others where their program is compiled already.
        """
        return True

    def plan(
        self, method: AbstractMethod, X: TableLike | None = None, clf: object = None, **options: Any
    ) -> RecourseFrame:
        """Recourse for the first refused people of the small world."""
        fitted = self.fitted(method, clf)
        return fitted.recourse(world.refused(fitted.predictor_, self.n_people) if X is None else X, **options)

    def fitted(self, method: AbstractMethod, clf: Any = None) -> AbstractMethod:
        """The method, fitted once to a classifier of the small world."""
        clf = self.classifier(method) if clf is None else clf
        key = (*self._named(method), id(clf))
        if key not in _FITTED:  # the classifier is kept beside, so that no other has its id
            _FITTED[key] = clf, fresh(method).fit(clf, *world.people())
        return _FITTED[key][1]

    def known(self, method: AbstractMethod) -> RecourseFrame:
        """`plan` with nothing asked for, searched once for all the checks that only look at it."""
        key = self._named(method)
        if key not in _KNOWN:
            _KNOWN[key] = self.plan(method)
        return _KNOWN[key]

    def _named(self, method: AbstractMethod) -> tuple[Any, ...]:
        settings = sorted((name, repr(value)) for name, value in method.get_params().items())
        return type(self), type(method), *settings

    # ---- what a person gets -------------------------------------------------------------------------

    def test_finds_recourse(self, method: AbstractMethod) -> None:
        """Most refused people of the small world have one."""
        assert self.known(method).found.mean() > 0.5

    def test_every_limit_holds(self, method: AbstractMethod) -> None:
        """After decoding, in the person's own columns, nothing that may not change has changed."""
        plan = self.known(method)
        broken = broken_limits(plan.predictor.encoder, plan.factual, plan.recourse, None, plan.consequences)
        assert [b for b, found in zip(broken, plan.found, strict=True) if found and b] == []
        assert (plan.factual.columns["age"] == plan.recourse.columns["age"]).all()

    def test_status_is_honest(self, method: AbstractMethod) -> None:
        """Asked again, the model agrees with the status; without a recourse the person is unchanged."""
        plan = self.known(method)
        decided = plan.predictor.classes[plan.predictor.decide(plan.recourse)]
        assert (decided == plan.target)[plan.found].all()
        assert (plan.valid == (decided == plan.target)).all()
        assert not plan.changed()[~plan.found].any()
        assert np.isfinite(plan.cost[plan.found]).all()
        assert np.isnan(plan.cost[np.isin(plan.status, (int(Status.NOT_FOUND), int(Status.INFEASIBLE)))]).all()

    def test_favourable_people_are_left_alone(self, method: AbstractMethod) -> None:
        """Who has a yes already is told so, unchanged and at no cost."""
        clf = self.classifier(method)
        table, _ = world.people()
        accepted = table[clf.predict(table) == 1].head(self.n_people)
        plan = self.plan(method, accepted)
        assert (plan.status == int(Status.ALREADY_FAVOURABLE)).all()
        assert (plan.cost == 0).all()
        assert plan.recourse.columns["debt"].tolist() == accepted["debt"].tolist()

    def test_nobody_is_asked_for_the_impossible(self, method: AbstractMethod) -> None:
        """Someone who may change nothing gets INFEASIBLE, not an exception and not a row."""
        everything = dict.fromkeys(world.SCHEMA.names, "fixed")
        plan = self.plan(method, restrictions={0: everything})
        assert plan.status[0] == int(Status.INFEASIBLE)
        assert not plan.changed()[0].any()

    def test_restrictions_hold(self, method: AbstractMethod) -> None:
        """What one person may not change stays, for that person."""
        own = {"income": "fixed", "job": {"levels": ["none", "part"]}, "debt": {"bounds": (5, 20)}}
        restrictions = [own] * self.n_people
        plan = self.plan(method, restrictions=restrictions)
        assert not plan.changed()[:, world.SCHEMA.names.index("income")].any()
        encoder = plan.predictor.encoder
        broken = broken_limits(encoder, plan.factual, plan.recourse, restrictions, plan.consequences)
        assert [b for b, found in zip(broken, plan.found, strict=True) if found and b] == []

    def test_threshold_is_the_classifiers_own(self, method: AbstractMethod) -> None:
        """The aim is the decision the classifier takes, not one half."""
        plan = self.plan(method, clf=self.classifier(method, threshold=0.8))
        assert plan.found.any()
        assert (plan.after[plan.found] >= 0.8 - 1e-6).all()

    def test_another_threshold_is_as_if_fitted_there(self, method: AbstractMethod) -> None:
        """Bound to the same model at another threshold, it answers as one fitted to that; the first stays."""
        method = _seeded(method)
        known, moved = self.known(method), self.classifier(method, threshold=0.8)
        X = world.refused(moved.predictor_, self.n_people)
        fitted = self.fitted(method)
        _assert_same(self.plan(method, X, clf=moved), fitted.rebind(moved.predictor_).recourse(X))
        assert fitted.predictor_ is known.predictor

    def test_three_classes(self, method: AbstractMethod) -> None:
        """With more classes, the wanted one wins."""
        clf, X, target = self._three_classes(method)
        plan = self.plan(method, X, clf=clf, target=target)
        assert plan.found.any()
        assert (clf.predict(plan.to_frame())[plan.found] == target).all()

    def _three_classes(self, method: AbstractMethod) -> tuple[Any, Any, int]:
        """A classifier of three classes in a world without limits, people of the first, and the second."""
        clf = self.classifier(method, n_classes=3)
        table, _ = world.people()
        return clf, table[clf.predict(table) == 0].head(self.n_people), 1

    def test_options_differ(self, method: AbstractMethod) -> None:
        """Several recourses for one person are all valid and permitted, and none repeats another."""
        if not method.offers_options:
            try:
                self.plan(method, n_recourses=2)
            except CapabilityError as error:
                assert "Use " in str(error)
            else:
                raise AssertionError("several recourses were asked of a method that offers one, without an error")
            return
        if self.limited(method):
            clf, target = self.classifier(method), None
            X = world.refused(clf.predictor_, self.n_people)
        else:
            clf, X, target = self._three_classes(method)
        plan = self.plan(_seeded(method), X, clf=clf, target=target, n_recourses=3)
        assert plan.found.any()
        assert plan.valid[plan.found].all()
        encoder = plan.predictor.encoder
        assert not any(broken_limits(encoder, plan.factual, plan.recourse, None, plan.consequences))
        assert set(plan.person.tolist()) == set(range(len(X)))
        change = encoder.encode(plan.action) - encoder.encode(plan.factual)
        change = by_feature(encoder.layout, change)
        for person in range(len(X)):
            own = change[(plan.person == person) & plan.found]
            unit = own / np.linalg.norm(own, axis=1, keepdims=True)
            assert (np.tril(unit @ unit.T, -1) ** 2 < 0.55).all()

    # ---- what an engineer relies on -----------------------------------------------------------------

    def test_same_seed_same_answer(self, method: AbstractMethod) -> None:
        """Twice fitted and asked the same, twice the same rows."""
        method = _seeded(method)
        known, clf = self.known(method), self.classifier(method)
        again = fresh(method).fit(clf, *world.people())
        _assert_same(known, again.recourse(world.refused(clf.predictor_, self.n_people)))

    def test_row_order_does_not_matter(self, method: AbstractMethod) -> None:
        """A person's answer does not depend on where they stand."""
        method = _seeded(method)
        X = world.refused(self.classifier(method).predictor_, self.n_people)
        order = np.random.default_rng(0).permutation(len(X))
        _assert_same(self.known(method).take(order), self.plan(method, X.iloc[order]))

    def test_batch_size_does_not_matter(self, method: AbstractMethod) -> None:
        """A person's answer does not depend on who else is asked."""
        method = _seeded(method)
        X = world.refused(self.classifier(method).predictor_, self.n_people)
        _assert_same(self.known(method).take(slice(5)), self.plan(method, X.head(5)))

    def test_batch_equals_one_by_one(self, method: AbstractMethod) -> None:
        """The batch runner gives what the one-person loop gives."""
        if not isinstance(method, AbstractSolverMethod):
            return  # not one person's solver: nothing to compare
        if self.limited(method):
            clf = self.classifier(method)
            people, target = world.refused(clf.predictor_, ALONE), clf.predictor_.decision.favourable
        else:
            clf, people, target = self._three_classes(method)
        fitted: Any = self.fitted(_seeded(method), clf)
        encoder = fitted.predictor_.encoder
        table = as_table(people).take(np.arange(ALONE))
        targets = np.full(ALONE, target, np.int32)
        # As `recourse` asks, so that its program serves.
        problems = fitted.problems(table, targets, normalise_restrictions(None, encoder.schema, ALONE))
        solver = fitted.solver()
        together = solve(solver, problems)
        run = jax.jit(iterate)
        for i in range(ALONE):
            own = feasible_sets(encoder, table.take(np.array([i]))).one(0)
            key = jax.random.wrap_key_data(jnp.asarray(problems.key[i]))
            alone = run(solver, Problem(own.x, jnp.asarray(targets[i]), own, key, own.x))
            assert int(alone.status) == int(together.status[i])
            np.testing.assert_allclose(alone.cost, together.cost[i], rtol=1e-3, atol=1e-4)

    def test_polars_equals_pandas(self, method: AbstractMethod) -> None:
        """The answer comes back in the library it was asked in, and is the same."""
        import polars

        X = world.refused(self.classifier(method).predictor_, self.n_people)
        method = _seeded(method)
        a, b = self.known(method), self.plan(method, polars.from_pandas(X))
        _assert_same(a, b)
        assert isinstance(b.to_frame(), polars.DataFrame)

    def test_deadline_is_kept(self, method: AbstractMethod) -> None:
        """Returns by the deadline; who was not reached is told so."""
        X = world.refused(self.classifier(method).predictor_, self.n_people)
        self.known(method)  # compiled
        began = time.monotonic()
        plan = self.plan(method, X, deadline=1e-4)
        assert time.monotonic() - began < 5.0
        reached = plan.status != int(Status.NOT_REACHED)
        assert not reached.all()
        assert not plan.changed()[~reached].any()

    def test_model_without_gradient(self, method: AbstractMethod) -> None:
        """A black box is served, or refused with the names of methods that do."""
        if method.needs or method.needs_one_of or method.needs_guides:
            try:
                fresh(method).fit(world.black_box(), *world.people())
            except CapabilityError as error:
                assert "Use " in str(error)
            else:
                raise AssertionError("a black box was accepted by a method that needs more")
        else:
            plan = self.plan(method, clf=world.black_box(self.limited(method)))
            assert plan.found.any()
            assert plan.valid[plan.found].all()

    def test_scikit_learn_conventions(self, method: AbstractMethod) -> None:
        """Keyword-only `__init__` that only assigns; `clone` and `get_params` work; fit changes no parameter."""
        cls = type(method)
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
        before = method.get_params()
        copy = fresh(method)
        assert {k: repr(v) for k, v in copy.get_params().items()} == {k: repr(v) for k, v in before.items()}
        copy.fit(self.classifier(method), *world.people())
        assert {k: repr(v) for k, v in copy.get_params().items()} == {k: repr(v) for k, v in before.items()}

    def test_is_registered(self, method: AbstractMethod) -> None:
        """The registry, the command line and model files know it by name."""
        assert _method_by_name(name_of(type(method))) is type(method)


def _method_by_name(name: str) -> type[AbstractMethod]:
    return method(name)


def _seeded(method: AbstractMethod) -> AbstractMethod:
    return fresh(method).set_params(random_state=0)


def _assert_same(a: RecourseFrame, b: RecourseFrame) -> None:
    assert a.status.tolist() == b.status.tolist()
    # Rows of a matrix product may differ in the last bit with their place in it.
    np.testing.assert_allclose(a.cost, b.cost, rtol=1e-3, atol=1e-4)
