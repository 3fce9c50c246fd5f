"""What is known of the 10-K corpus."""

import numpy as np
import pandas as pd

from driftglm.datasets.tenk_known import PAPER_ROWS, PAPER_YEARS, ROWS, known_figures


def test_the_known_figures_agree_with_each_other():
    assert sum(ROWS[year] for year in PAPER_YEARS) == 27_166 == PAPER_ROWS + 7


def test_the_known_errors_of_the_past_volatility_are_checked():
    past = np.sqrt([0.1873] * 4)
    frame = pd.DataFrame({"year": 2003, "logvol_after": 0.0, "logvol_before": past})
    checks = {check.what: check for check in known_figures(frame, {2003: 3612})}
    assert checks["rows of 2003"].ok
    assert checks["mean squared error of the past volatility in 2003"].ok
    frame["logvol_before"] *= 1.01
    assert not known_figures(frame, {2003: 3612})[-1].ok
