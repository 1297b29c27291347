"""T-Rex: on a line the stability is a function of the margin, so the nearest stable point is known."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import holdtrue as ht
from holdtrue.errors import CapabilityError
from holdtrue.methods._criterion import noise_of

SETTINGS = {"base": ht.Wachter(norm="l2"), "sigma": 0.3, "min_stability": 0.75, "n_samples": 50}


def stability(margin, shifts):
    near = expit(margin + shifts)
    return np.mean(near - np.abs(expit(margin) - near))


def test_the_climb_ends_at_the_nearest_stable_point(plane):
    fitted = ht.TRex(**SETTINGS).fit(plane.predictor, plane.rows)
    shifts = np.asarray(noise_of(fitted), np.float64) @ plane.w
    needed = brentq(lambda m: stability(m, shifts) - 0.75, 0, 10)
    plan = fitted.recourse(plane.people)
    known = (needed - plane.margin(plane.people.to_numpy())) / np.linalg.norm(plane.w)
    np.testing.assert_allclose(plan.cost, known, rtol=2e-3)


def test_the_cheapest_stable_row_is_taken(plane):
    base = ht.NearestNeighbour(norm="l2")
    method = ht.TRex(**SETTINGS | {"base": base, "min_stability": 0.8, "n_candidates": 60})
    fitted = method.fit(plane.opaque, plane.rows)
    shifts = np.asarray(noise_of(fitted), np.float64) @ plane.w
    rows = plane.rows.to_numpy()
    stable = rows[[stability(m, shifts) >= 0.8 for m in plane.margin(rows)]]
    assert 3 < len(stable) < len(rows) // 2
    for x, end in zip(plane.people.to_numpy(), plane.points(fitted.recourse(plane.people)), strict=True):
        np.testing.assert_allclose(
            end, stable[np.argmin(np.linalg.norm(stable - x, axis=1))], atol=1.1e-3
        )  # told in thousandths


def test_a_model_without_a_gradient_cannot_be_climbed(plane):
    with pytest.raises(CapabilityError, match="variant='I' needs a differentiable model"):
        ht.TRex(variant="I").fit(plane.opaque, plane.rows)
