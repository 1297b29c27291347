"""Programs are forgotten before there is no room for more."""

import itertools

import jax

from holdtrue.models import _maps


def test_too_many_maps_are_let_go(monkeypatch):
    cleared = []
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    monkeypatch.setattr(_maps, "_calls", itertools.count())
    monkeypatch.setattr(_maps, "n_maps", lambda: 50_000)
    assert [_maps.spare_maps() for _ in range(2 * _maps.LOOK)].count(True) == 2
    assert len(cleared) == 2
    monkeypatch.setattr(_maps, "n_maps", lambda: 1000)
    assert not any(_maps.spare_maps() for _ in range(2 * _maps.LOOK))


def test_maps_are_counted():
    assert 0 <= _maps.n_maps() < 65_530
