"""The page of what holding costs is what its maker writes."""

from experiments.hold import page


def test_the_page_is_made_of_what_is_committed():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_a_method_off_the_front_is_not_ahead():
    import numpy as np

    def row(cost: float, survival: float) -> page.Row:
        ones = np.ones(4)
        return page.Row(ones > 0, cost * ones, survival * ones, ones, None, 0.1)

    pair = {
        "cheapest": row(1, 0.5), "hold 0.9, sparse_search": row(2, 0.9), "hold 0.95, sparse_search": row(3, 0.95),
        "hold 0.99, sparse_search": row(4, 0.99), "dear": row(2.5, 0.9), "cheap": row(1.2, 0.9),
        "sure": row(9, 1.0),
    }  # fmt: skip
    assert page.ahead(pair) == ["cheap"]
    assert page.surer(pair) == ["sure"]
    np.testing.assert_allclose(page.costs_at(pair, 0.925), 2.5)
    np.testing.assert_allclose(page.ratio(pair["dear"], pair["cheapest"]), 2.5)
