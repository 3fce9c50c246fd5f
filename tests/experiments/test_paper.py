"""What the paper printed, and its years."""

import pytest

from driftglm.experiments import Settings
from driftglm.experiments.paper import FORECASTING


def test_the_paper_years_and_figures_are_used_where_the_corpus_has_them():
    chosen = Settings().resolved(range(1996, 2007), FORECASTING)
    assert (chosen.dev, chosen.test, chosen.years) == (2002, (2003, 2004, 2005), (1996, 2005))
    assert chosen.ranks == (101, 10101)
    assert FORECASTING.figure("lasso-one", 2003) == 0.164
    assert FORECASTING.figure("variational", 2004) == 0.113
    assert FORECASTING.figure("learned", 2018) is None
    weighted = (3611 * 0.185 + 3558 * 0.125 + 3474 * 0.135) / 10643
    assert FORECASTING.overall("ridge-one") == pytest.approx(weighted, rel=1e-12)
