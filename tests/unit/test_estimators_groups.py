"""fit(..., groups=ids): every family, what does not matter, what is said, files and updates."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import driftglm
from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError

N_GROUPS, N_STEPS, EACH = 25, 4, 2
N_ROWS = N_GROUPS * N_STEPS * EACH
GROUP = np.tile(np.repeat(np.arange(N_GROUPS), EACH), N_STEPS)
TIME = np.repeat(np.arange(2001, 2001 + N_STEPS), N_GROUPS * EACH)
EFFECT = np.random.default_rng(5).normal(size=N_GROUPS)
pytestmark = pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")


def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_ROWS, 3))
    X[:, 0] = rng.normal(size=N_GROUPS)[GROUP]
    return X, 0.6 * X[:, 0] + 0.8 * X[:, 1] + EFFECT[GROUP], rng


def successes(eta, rng):
    found = rng.binomial(10, 1 / (1 + np.exp(-eta)))
    return np.column_stack([found, 10 - found])


DRAWN = {
    "gaussian": lambda eta, rng: eta + 0.5 * rng.normal(size=eta.size),
    "student": lambda eta, rng: eta + 0.5 * rng.standard_t(3, size=eta.size),
    "binomial": lambda eta, rng: (rng.random(eta.size) < 1 / (1 + np.exp(-eta))).astype(int),
    "beta-binomial": successes,
    "multinomial": lambda eta, rng: np.argmax(
        np.column_stack([eta, -eta, 0 * eta]) + rng.gumbel(size=(eta.size, 3)), axis=1
    ),
    "poisson": lambda eta, rng: rng.poisson(np.exp(0.7 * eta)),
    "negative-binomial": lambda eta, rng: rng.poisson(
        np.exp(0.7 * eta) * rng.gamma(3.0, 1 / 3.0, eta.size)
    ),
    "gamma": lambda eta, rng: rng.gamma(2.0, np.exp(0.7 * eta) / 2.0) + 1e-6,
}


@pytest.fixture(scope="module")
def gaussian():
    X, eta, rng = rows()
    return X, DRAWN["gaussian"](eta, rng)


@pytest.fixture(scope="module")
def fitted(gaussian):
    return fit(*gaussian)


def fit(X, y, time=TIME, groups=GROUP, **more):
    weights = more.pop("sample_weight", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", driftglm.exceptions.ConvergenceWarning)
        return DriftRegressor(**more).fit(X, y, time=time, groups=groups, sample_weight=weights)


@pytest.mark.parametrize("family", DRAWN)
def test_every_family_finds_the_groups_and_its_bound_never_falls(family):
    X, eta, rng = rows()
    model = DriftGLM(family=family).fit(X, DRAWN[family](eta, rng), time=TIME, groups=GROUP)
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert model.group_variance_.to_numpy().sum() > 0.05
    effects = model.group_effects_
    assert np.isfinite(effects[["effect", "std"]].to_numpy()).all()
    if family == "multinomial":  # an effect for every class; the first rises with eta
        assert effects.columns[0] == "class"
        effects = effects[effects["class"] == 0]
    found = effects[effects["step"].isna()].set_index("group")["effect"]
    assert np.corrcoef(found, EFFECT[found.index])[0, 1] > 0.7


def test_names_of_groups_and_the_order_of_rows_do_not_matter(gaussian, fitted):
    X, y = gaussian
    rng = np.random.default_rng(0)
    order, names = rng.permutation(N_ROWS), rng.permutation(N_GROUPS)
    others = {
        "numbers": fit(X, y, groups=1000 - 7 * names[GROUP]),
        "texts": fit(X, y, groups=[f"firm {g}" for g in names[GROUP]]),
        "rows": fit(X[order], y[order], TIME[order], GROUP[order]),
    }
    for other in others.values():
        assert_allclose(other.coef_path_, fitted.coef_path_, atol=1e-6)
        assert_allclose(other.coef_std_path_, fitted.coef_std_path_, atol=1e-6)
        assert_allclose(other.group_variance_, fitted.group_variance_, atol=1e-6)


def test_a_weight_of_two_is_a_row_twice(gaussian):
    X, y = gaussian
    weighted = fit(X, y, sample_weight=np.full(N_ROWS, 2.0))
    twice = fit(np.vstack([X, X]), np.tile(y, 2), np.tile(TIME, 2), np.tile(GROUP, 2))
    assert_allclose(weighted.coef_path_, twice.coef_path_, atol=1e-6)
    assert_allclose(weighted.coef_std_path_, twice.coef_std_path_, atol=1e-6)
    assert_allclose(weighted.group_variance_, twice.group_variance_, atol=1e-6)


def test_a_covariate_of_groups_is_less_certain_than_rows_alone_say(gaussian, fitted):
    plain = fit(*gaussian, groups=None)
    assert (fitted.coef_std_path_[:, 0] > 2.0 * plain.coef_std_path_[:, 0]).all()
    assert (fitted.coef_std_path_[:, 1] < plain.coef_std_path_[:, 1]).all()


def constant_effects(model):
    """Effects that last; what is drawn anew in a step has that step."""
    table = model.group_effects_
    return table[table["step"].isna()]


def test_effects_move_forecasts_of_their_groups_alone(gaussian, fitted):
    X = gaussian[0][:N_GROUPS]
    ids = np.arange(N_GROUPS)
    mean = fitted.predict(X)
    known = fitted.predict(X, groups=ids) - mean
    effects = constant_effects(fitted).set_index("group")["effect"]
    assert_allclose(known, effects[ids], atol=1e-8)
    assert_allclose(fitted.predict(X, groups=ids + 500), mean, atol=1e-12)


def test_unseen_groups_have_the_variance_between_groups(gaussian, fitted):
    X, ids = gaussian[0][:N_GROUPS], np.arange(N_GROUPS)
    variances = {
        name: fitted.predict_distribution(X, groups=groups).variance
        for name, groups in {"seen": ids, "unseen": ids + 500, "none": None}.items()
    }
    assert_allclose(variances["unseen"], variances["none"])
    between = fitted.group_variance_["constant"].to_numpy()
    own = constant_effects(fitted)["std"].to_numpy() ** 2
    assert_allclose(variances["unseen"] - variances["seen"], between - own, rtol=1e-6)
    assert (own < between).all()


def test_steps_that_were_seen_have_the_effects_drawn_in_them():
    X, eta, rng = rows()
    cell = GROUP * N_STEPS + TIME - 2001
    y = eta + rng.normal(size=cell.max() + 1)[cell] + 0.3 * rng.normal(size=N_ROWS)
    model = fit(X, y)
    assert (model.group_variance_.to_numpy() > 0.3).all()
    table = model.group_effects_
    assert table.columns.tolist() == ["group", "step", "effect", "std"]
    assert len(table) == N_GROUPS + N_GROUPS * N_STEPS
    of_cells = table[table["step"].notna()].set_index(["group", "step"])["effect"]
    assert set(of_cells.index.get_level_values("step")) == set(TIME)
    # In its own step a row has what was drawn there, after the last step the constant alone.
    seen = model.predict(X, time=TIME, groups=GROUP) - model.predict(X, time=TIME)
    assert_allclose(seen, of_cells[list(zip(GROUP, TIME, strict=True))], atol=1e-8)
    later = model.predict(X, groups=GROUP) - model.predict(X)
    constant = table[table["step"].isna()].set_index("group")["effect"]
    assert_allclose(later, constant[GROUP], atol=1e-8)


def test_effects_are_pulled_towards_zero(gaussian, fitted):
    """Partial pooling: less than a mean of residuals, and more so with fewer rows."""
    X, y = gaussian
    left = y - fitted.predict(X, time=TIME)
    means = np.bincount(GROUP, left) / np.bincount(GROUP)
    effects = constant_effects(fitted)["effect"].to_numpy()
    assert np.corrcoef(means, effects)[0, 1] > 0.99
    assert np.abs(effects).sum() < np.abs(means).sum()
    few = (GROUP != 0) | (np.arange(N_ROWS) < 2)  # two rows are left of the first group
    fewer = constant_effects(fit(X[few], y[few], TIME[few], GROUP[few]))["std"].to_numpy()
    assert fewer[0] > 1.3 * fewer[1:].max()


def test_a_file_keeps_the_groups(tmp_path, gaussian, fitted):
    X = gaussian[0]
    fitted.save(tmp_path / "m.drift")
    again = driftglm.load(tmp_path / "m.drift")
    given = {"time": TIME, "groups": GROUP}
    assert_array_equal(again.predict(X, **given), fitted.predict(X, **given))
    assert_array_equal(again.group_variance_, fitted.group_variance_)
    assert again.group_effects_.equals(fitted.group_effects_)


def test_an_update_adds_steps_and_groups(gaussian):
    X, y = gaussian
    early = TIME < 2004
    names = np.array([f"firm {g:02d}" for g in GROUP])
    names[~early & (GROUP == 0)] = "newest"
    model = fit(X[early], y[early], TIME[early], names[early], keep_data=True)
    late = {"time": TIME[~early], "groups": names[~early]}
    model.update(X[~early], y[~early], **late)
    table = model.group_effects_.set_index("group")
    assert set(table.index) == set(names)
    whole = fit(X, y, groups=names).group_effects_.set_index("group")
    assert_allclose(table["effect"][whole.index], whole["effect"], atol=0.1)
    assert table["std"]["newest"] > table["std"]["firm 03"]
    with pytest.raises(DataError, match=r"has groups and .* has none"):
        model.update(X[~early], y[~early], time=TIME[~early] + 1)


def test_averages_of_forecasters_know_the_groups():
    rng = np.random.default_rng(2)
    time, group = np.repeat(np.arange(8), 40), np.tile(np.arange(20), 16)
    X, effect = rng.normal(size=(320, 2)), rng.normal(size=20)
    y = X[:, 0] + effect[group] + 0.3 * rng.normal(size=320)
    model = fit(X, y, time, group)
    assert model.extrapolate_ == "average"
    moved = model.predict(X[:20], groups=np.arange(20)) - model.predict(X[:20])
    assert np.corrcoef(moved, effect)[0, 1] > 0.95
    # Forecasters were judged by how well they predict groups they know.
    blind = fit(X, y, time, None)
    scores = model.extrapolation_scores_["static"] - blind.extrapolation_scores_["static"]
    assert (scores > 0.5).all()
    # Nothing moves: forecasts are next to what was last.
    assert abs(model.intercept_ - model.intercept_path_[-1]) < 0.1
    assert abs(model.coef_[0] - model.coef_path_[-1, 0]) < 0.05


def test_groups_need_the_learned_prior(gaussian):
    with pytest.raises(DataError, match=r"groups= is for the learned prior.*leave groups out"):
        fit(*gaussian, prior="exact")


def test_a_model_without_groups_knows_no_effects(gaussian):
    plain = fit(*gaussian, groups=None, extrapolate="forecast")
    with pytest.raises(DataError, match="fitted without groups"):
        plain.predict(gaussian[0], groups=GROUP)
    with pytest.raises(AttributeError, match="fitted without groups"):
        _ = plain.group_effects_


@pytest.mark.parametrize("model", [DriftClassifier, DriftPoissonRegressor])
def test_all_that_predicts_takes_ids(model):
    X, eta, rng = rows()
    family = "binomial" if model is DriftClassifier else "poisson"
    found = model(extrapolate="forecast").fit(X, DRAWN[family](eta, rng), time=TIME, groups=GROUP)
    given = {"time": TIME, "groups": GROUP}
    plain = found.predict_distribution(X, time=TIME).mean
    assert not np.allclose(found.predict_distribution(X, **given).mean, plain)
    if model is DriftClassifier:
        shares = found.predict_proba(X, **given)[:, 1]
        assert_allclose(shares, found.predict_distribution(X, **given).mean, atol=1e-6)
    else:
        assert_allclose(found.predict(X, **given), found.predict_distribution(X, **given).mean)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.arange(N_ROWS), "one each"),
        (np.zeros(N_ROWS), "one id for all rows"),
        (TIME, "steps holds one group"),
        (GROUP[:-1], "pass one id per row"),
        (np.where(np.arange(N_ROWS) == 3, np.nan, GROUP), "no id in 1 of 200 rows, first in row 3"),
    ],
)
def test_bad_ids_are_refused(gaussian, ids, message):
    with pytest.raises(DataError, match=message):
        fit(*gaussian, groups=ids)


def test_effects_of_groups_do_not_stand_for_a_covariate_in_large_counts():
    rng = np.random.default_rng(8001)
    group, time = np.tile(np.repeat(np.arange(60), 6), 3), np.tile(np.arange(6), 180)
    X = rng.normal(size=(group.size, 20))
    X[:, 0] = rng.normal(size=60)[group]
    eta = 3 + 0.4 * X[:, 0] + 0.3 * X[:, 1] + 0.5 * rng.normal(size=60)[group]
    y = rng.poisson(np.exp(eta + 0.3 * rng.normal(size=(60, 6))[group, time]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", driftglm.exceptions.ConvergenceWarning)
        model = DriftGLM(family="poisson", extrapolate="forecast").fit(
            X, y, time=time, groups=group
        )
    assert_allclose(model.coef_path_[:, 0], 0.4, atol=0.15)  # was .004
    assert_allclose(model.group_variance_["constant"], 0.25, atol=0.1)  # was .39
