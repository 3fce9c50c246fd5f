import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from driftglm.diagnostics import Finding, Residuals, diagnose, findings
from driftglm.diagnostics.diagnose import _holm

STEPS = np.repeat(np.arange(24), 40)


def test_clean_residuals_have_findings_in_few_panels():
    rng = np.random.default_rng(0)
    found = [
        bool(findings(Residuals(rng.normal(size=960), rng.permutation(STEPS), 24, period=12)))
        for _ in range(100)
    ]
    assert sum(found) <= 8


def test_a_frame_with_the_worst_first():
    rng = np.random.default_rng(1)
    values = rng.standard_t(3, 960) * np.exp(0.4 * rng.normal(size=24))[STEPS]
    frame = diagnose(Residuals(values, STEPS, 24, influence=np.full(24, 3.0)))
    assert list(frame) == ["check", "finding", "advice", "statistic", "p_value", "severity"]
    assert {"tails", "noise", "influence"} <= set(frame["check"])
    assert frame["severity"].tolist() == sorted(frame["severity"])
    assert (frame["p_value"].dropna() <= 0.05).all()


def test_an_empty_frame_has_the_same_columns():
    frame = diagnose(Residuals(np.random.default_rng(2).normal(size=960), STEPS, 24))
    assert len(frame) == 0
    assert list(frame)[:2] == ["check", "finding"]


def test_p_values_are_holms():
    raw = [0.02, 0.001, 0.4, 0.015]
    made = [Finding(str(p), "", "", 0.0, p, "minor") for p in raw]
    made.append(Finding("none", "", "", 0.0, None, "minor"))
    ours = {each.check: each.p_value for each in _holm(made)}
    expected = multipletests(raw, method="holm")[1]
    assert [ours[str(p)] for p in raw] == pytest.approx(list(expected))
    assert ours["none"] is None


@pytest.mark.parametrize("n_rows", [0, 1, 2, 5, 19])
def test_few_rows_say_nothing(n_rows):
    values = np.random.default_rng(3).normal(size=n_rows)
    assert findings(Residuals(values, np.zeros(n_rows, dtype=int), 1)) == []
    assert findings(Residuals(values, np.arange(n_rows), n_rows + 1, continuous=False)) == []


def test_constant_residuals_are_only_of_the_wrong_shape():
    assert {each.check for each in findings(Residuals(np.ones(960), STEPS, 24))} == {"pit"}


def test_the_answer_is_the_same_every_time():
    given = Residuals(np.random.default_rng(4).standard_t(3, 960), STEPS, 24)
    assert findings(given) == findings(given)
