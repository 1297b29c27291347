import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.metrics import neighbour_distance


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("k", [1, 5, 400])
def test_equals_all_pairs(norm: str, k: int) -> None:
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(37, 6)), rng.normal(size=(211, 6))
    change = points[:, None, :] - rows[None, :, :]
    pairs = np.abs(change).sum(axis=2) if norm == "l1" else np.sqrt((change**2).sum(axis=2))
    expected = np.sort(pairs, axis=1)[:, :k].mean(axis=1)  # with fewer than k rows, all of them
    np.testing.assert_allclose(neighbour_distance(points, rows, k, norm=norm), expected, rtol=1e-9)


def test_someone_who_is_there_is_as_plausible_as_can_be() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 3))
    assert neighbour_distance(rows, rows, k=1) == pytest.approx(np.zeros(50))
    assert neighbour_distance(np.zeros((0, 3)), rows).shape == (0,)


@pytest.mark.parametrize(
    ("points", "rows", "options", "words"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), {}, "same columns"),
        (np.zeros((2, 3)), np.zeros((0, 3)), {}, "a row at least"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"k": 0}, "positive whole number"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"norm": "mad"}, "is not known"),
    ],
)
def test_bad_input(points: np.ndarray, rows: np.ndarray, options: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        neighbour_distance(points, rows, **options)
