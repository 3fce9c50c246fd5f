"""What is known of the 10-K corpus."""

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets import tenk_known
from driftglm.datasets.tenk_known import (
    PAPER_ROWS,
    PAPER_YEARS,
    ROWS,
    known_figures,
    known_folder,
    known_repeats,
)


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


def test_repeated_keys_are_checked_for_whole_spans_only():
    (check,) = known_repeats(range(1996, 2007), 9)
    assert check.ok
    assert not known_repeats(range(1996, 2006), 9)[0].ok
    assert known_repeats(range(1997, 2006), 7) == ()
    assert known_repeats([], 0) == ()


def test_the_folder_is_checked_if_all_its_years_are_read(tmp_path):
    (tmp_path / "a").write_bytes(bytes(200_000))
    files, size = known_folder(tmp_path, range(1996, 2007))
    assert (files.expected, files.found) == (45, 1)
    assert (size.expected, size.found) == (364.4, 0.2)
    assert known_folder(tmp_path, [2003]) == ()


@pytest.mark.parametrize("megabyte", [10**6, 2**20])
def test_a_megabyte_may_be_either(tmp_path, monkeypatch, megabyte):
    monkeypatch.setattr(tenk_known, "MEGABYTES", 3.4)
    (tmp_path / "a").write_bytes(bytes(round(3.4 * megabyte)))
    assert known_folder(tmp_path, range(1996, 2007))[1].ok
    (tmp_path / "b").write_bytes(bytes(megabyte))
    assert not known_folder(tmp_path, range(1996, 2007))[1].ok


def test_the_mean_of_six_years_is_that_of_reports_or_of_years():
    years = np.repeat(np.arange(2001, 2007), [1, 1, 1, 1, 1, 5])
    past = np.sqrt(np.where(years == 2006, 0.1578 + 0.05, 0.1578 - 0.01))  # of years: .1578
    frame = pd.DataFrame({"year": years, "logvol_after": 0.0, "logvol_before": past})
    lines = {int(year): 1 for year in years}
    assert known_figures(frame, lines)[-1].ok
    frame["logvol_before"] *= 1.01
    assert not known_figures(frame, lines)[-1].ok
