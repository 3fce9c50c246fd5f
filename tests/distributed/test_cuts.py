"""A source of rows cut before a step is a source of the rows before it, on workers too."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.families import family_named
from driftglm.fitting.fit_rows import fit_rows
from driftglm.fitting.reading import Given, Reading, read_vectors
from driftglm.fitting.rows import rows_in_memory
from driftglm.fitting.settings import Settings
from driftglm.fitting.text_data import collapse
from driftglm.fitting.text_remote import add_up, check_counts, locate, word_engine
from driftglm.fitting.text_solve import TextSettings, solve_text
from driftglm.fitting.worker_rows import Workers, rows_on_workers
from driftglm.priors import prior_named
from driftglm.simulate import simulate_text

da = pytest.importorskip("dask.array")

FAMILIES = pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])


def data(family, n_features=25):
    rng = np.random.default_rng(5)
    time = np.sort(rng.integers(0, 6, 300))
    time[time == 3] = 2  # an empty step
    X = rng.normal(size=(300, n_features)) + 0.3 * time[:, None]
    eta = 0.4 * (time - 2) * X[:, 0] + 0.5 * X[:, 1]
    y = {
        "gaussian": eta + rng.normal(size=300),
        "binomial": np.where(eta + rng.logistic(size=300) > 0, "b", "a"),
        "poisson": rng.poisson(np.exp(np.clip(0.4 * eta, -3, 3))).astype(float),
    }[family]
    weights = rng.integers(0, 3, 300).astype(float)  # some rows do not count
    return X, Given(y, time, weights)


def reading(family, **more):
    prior = prior_named("learned")
    settings = {"posterior": True, "n_directions": prior.n_directions, **more}
    return Reading(family=family_named(family), owner="a test", **settings)


def same(one, other):
    for a, b in zip(one.forecasters[0].fits, other.forecasters[0].fits, strict=True):
        assert_allclose(a.coef_path(), b.coef_path(), rtol=1e-8, atol=1e-9)
        assert_allclose(a.intercept_path(), b.intercept_path(), rtol=1e-8, atol=1e-8)
        assert_allclose(a.std_path(), b.std_path(), rtol=1e-7)
    assert_allclose(one.forecasters[0].noise, other.forecasters[0].noise, rtol=1e-8)


@FAMILIES
@pytest.mark.parametrize("step", [2, 4, 5])
def test_a_cut_in_memory_is_a_fit_of_the_earlier_rows_alone(family, step):
    X, given = data(family)
    rows = rows_in_memory(X, read_vectors(reading(family), given, 300), reading(family), None)
    past = np.flatnonzero(given.time < step)
    alone = Given(given.y[past], given.time[past], given.sample_weight[past])
    vectors = read_vectors(reading(family), alone, past.size)
    expected = rows_in_memory(X[past], vectors, reading(family), None)
    cut = rows.before(step)
    assert cut.n_timesteps == expected.n_timesteps
    for name in ("X", "y", "codes", "weights", "exposure"):
        assert_array_equal(getattr(cut, name), getattr(expected, name))
    # Nothing that was computed from all rows has come along.
    assert cut.scale == expected.scale


CUTS = [("gaussian", 1, 40), ("gaussian", 5, 170), ("binomial", 4, 40), ("poisson", 4, 170)]


@pytest.mark.parametrize(("family", "step", "chunk"), CUTS)
@pytest.mark.usefixtures("client")
def test_a_cut_on_workers_is_the_cut_in_memory(family, step, chunk):
    """Chunks of sorted rows: some lie before the step, some after it, one on both sides."""
    X, given = data(family)
    settings = Settings(prior_named("learned"), max_iter=8)
    how = reading(family, always_in=[2], static=[3])
    here = rows_in_memory(X, read_vectors(how, given, 300), how, None)
    with rows_on_workers(da.from_array(X, chunks=(chunk, -1)), given, how, Workers()) as (far, _):
        there = far.before(step)
        try:
            same(fit_rows(there, settings), fit_rows(here.before(step), settings))
        finally:
            there.close()
        if family == "gaussian":  # the whole is there as before
            same(fit_rows(far, settings), fit_rows(here, settings))


@pytest.mark.usefixtures("client")
def test_a_cut_gathers_no_rows_but_those_of_the_sample(monkeypatch):
    from driftglm.design import directions

    monkeypatch.setattr(directions, "MOST_ROWS", 20)
    X, given = data("gaussian")
    with rows_on_workers(
        da.from_array(X, chunks=(60, -1)), given, reading("gaussian"), Workers()
    ) as (
        far,
        _,
    ):
        past = far.before(4)
        try:
            assert past.X is None
            assert past.gathered.X.shape == (20, 25)
            assert past.raw.engine.traffic.total < X.nbytes
        finally:
            past.close()


@pytest.mark.parametrize("prior", ["learned", "fixed"])
@pytest.mark.usefixtures("client")
def test_contexts_on_workers_are_cut_where_they_are(prior):
    text = simulate_text(n_words=70, n_effects=3, random_state=1)
    words = [f"w{j}" for j in range(70)]
    found = prior_named(prior).for_text()
    settings = TextSettings(found, by_effect=True, max_iter=12, tol=1e-9, center="step")
    here = collapse(text.counts, text.effects, text.time)
    parts = da.from_array(text.counts.toarray(), chunks=(50, 30))
    with word_engine(parts, None, "", verbose=False) as engine:
        there = add_up(check_counts(locate(parts, engine), words), text.effects, text.time)
        for step in (3, 5):
            ends = []
            for source, updates in ((here.before(step), None), (there.before(step), engine)):
                n_steps = int(source.codes.max()) + 1
                assert n_steps == step
                base = source.log_background(n_steps, "step", 0.5)
                ends.append(solve_text(source, base, replace(settings, engine=updates)))
            for name in ("coef_path", "background"):
                paths = [getattr(end.fit, name)() for end in ends]
                assert_allclose(paths[1], paths[0], rtol=1e-9, atol=1e-11)
            assert_allclose(ends[1].run.history, ends[0].run.history, rtol=1e-12)
