"""What is said of how far a fit is: the time left is right where it can be known."""

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.fitting.progress import Origins, Passes, in_words, passes_left
from driftglm.simulate import simulate_panel


def test_passes_left_are_right_for_rises_that_fall_by_the_same_share():
    rises = 100.0 * 0.8 ** np.arange(200)
    values = np.cumsum(rises)
    last = int(np.argmax(rises < 1e-3))  # the pass that is small enough
    for n_passes in (20, 30, 45):
        found = passes_left(values[:n_passes], 1e-3)
        assert found == pytest.approx(last - n_passes, abs=6)  # half a window


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], list(range(40))])
def test_nothing_is_promised_of_few_passes_or_of_rises_that_do_not_fall(values):
    assert passes_left(values, 1e-3) is None


def test_the_time_of_passes_that_compiled_is_not_expected_again(capsys):
    clock = iter([0.0, *(100.0 + np.arange(30))])
    shown = Passes(1e-3, follows="more", now=lambda: next(clock))
    values = np.cumsum(100.0 * 0.8 ** np.arange(200))
    for k in range(25):
        shown(k + 1, float(values[k]), 7)
    # 52 passes are needed in all, a second each.
    assert shown.seconds_left() == pytest.approx(27.0, abs=6.0)
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.startswith("driftglm: pass 25, objective 498.11")
    assert last.rstrip().endswith(" s left, then more")


def test_the_time_of_fits_as_of_earlier_steps_goes_by_their_rows(capsys):
    times = iter([0.0, 10.0, 20.0, 40.0, 40.0])
    shown = Origins([100, 200, 300], now=lambda: next(times))
    shown.done(1)
    shown.done(2)
    shown.done(3)
    lines = [line.rstrip() for line in capsys.readouterr().err.split("\r")[1:]]
    of = "driftglm: {} of 3 fits as of earlier steps, "
    assert lines[0] == of.format(1) + "about 50 s left"
    assert lines[1] == of.format(2) + "about 20 s left"
    assert lines[-1] == of.format(3) + "40 s"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.25, "0.2 s"), (12.3, "12 s"), (89.0, "89 s"), (150.0, "2.5 min"), (7200.0, "2 h")],
)
def test_times_are_said_in_the_unit_one_would_choose(seconds, said):
    assert in_words(seconds) == said


def test_a_verbose_fit_says_passes_and_fits_as_of_earlier_steps_on_stderr(capsys):
    panel = simulate_panel(n_features=6, n_active=2, rows_per_step=30, random_state=3)
    quiet = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    assert capsys.readouterr().err == ""
    loud = DriftRegressor(verbose=True).fit(panel.X, panel.y, time=panel.time)
    err = capsys.readouterr().err
    assert f"driftglm: pass {loud.n_iter_}, objective" in err
    assert "then fits as of earlier steps" in err
    assert "driftglm: 1 of " in err
    np.testing.assert_array_equal(quiet.coef_path_, loud.coef_path_)
