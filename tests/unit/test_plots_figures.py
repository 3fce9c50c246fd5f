"""Figures of plain numbers: any size, and one outlier hides nothing."""

import numpy as np
import pytest

from driftglm.plots import figures


def test_ten_thousand_features_and_one(drawn_texts):
    values = np.random.default_rng(0).normal(size=(4, 1, 10_000))
    names = [f"f{i}" for i in range(10_000)]
    figure = figures.heatmap([1, 2, 3, 4], values, names)
    assert any("10,000 features" in text for text in drawn_texts(figure))
    assert "features (of 10,000)" in drawn_texts(
        figures.autocorrelation(np.full(10_000, 0.5), np.ones(10_000), names)
    )
    for draw in (figures.heatmap, figures.paths):
        drawn_texts(draw([1], np.zeros((1, 1, 1)), ["only"]))
    assert "never included" in drawn_texts(
        figures.autocorrelation(np.array([np.nan]), np.zeros(1), ["a"])
    )


def test_one_large_coefficient_does_not_hide_the_others():
    values = np.full((10, 1, 30), 0.1)
    values[0, 0, 0] = 1000.0
    image = figures.heatmap(range(10), values, [str(i) for i in range(30)]).axes[0].images[0]
    assert image.get_clim() == pytest.approx((-0.1, 0.1))
