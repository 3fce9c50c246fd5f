"""What an experiment found, stored and read again."""

import json

import pytest

from driftglm.experiments import Reproduction, Settings, reproduce_forecasting
from driftglm.experiments.paper import FORECASTING, TEXT


def test_a_result_is_the_same_after_json(reports, tmp_path):
    settings = Settings(models=("lasso-all",), ranks=(3, 50), vocabulary="all")
    result = reproduce_forecasting(reports, settings=settings)
    content = json.loads(json.dumps(result.to_dict(), default=str))
    again = Reproduction.from_dict(content, FORECASTING, result.comparisons, tmp_path)
    assert again.settings == result.settings
    assert again.sizes == result.sizes
    assert again.provenance == result.provenance
    assert again.table().equals(result.table())


def test_years_are_added_or_averaged_by_size():
    figures, sizes = {2003: 1.0, 2004: 4.0}, {2003: 2.0, 2004: 1.0}
    assert TEXT.combined(figures, sizes) == 5.0
    assert FORECASTING.combined(figures, sizes) == pytest.approx(2.0)
