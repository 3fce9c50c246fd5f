"""DriftTextModel: what users type and read, odd input included."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from scipy.special import log_softmax
from sklearn.base import clone

from driftglm import DriftTextModel
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.priors import Exact, Fixed, Learned
from driftglm.simulate import simulate_text

TEXT = simulate_text(n_words=30, n_effects=3, docs_per_step=15, words_per_effect=4, random_state=1)


def fitted(**params):
    return DriftTextModel(**params).fit(TEXT.counts, TEXT.effects, time=TEXT.time)


@pytest.fixture(scope="module")
def model():
    return fitted(vocabulary=[f"word{j}" for j in range(30)])


def test_shapes_and_attributes(model):
    assert model.coef_path_.shape == (6, 3, 30)
    assert model.background_.shape == model.base_background_.shape == (6, 30)
    assert model.inclusion_probability_.shape == (3, 30)
    assert model.coef_std_path_.shape == (6, 3, 30)
    assert_array_equal(model.timesteps_, np.arange(6))
    assert model.converged_
    assert model.n_iter_ == model.objective_history_.size
    assert np.diff(model.objective_history_).min() >= -1e-9 * abs(model.objective_history_[-1])
    assert ((model.inclusion_probability_ >= 0) & (model.inclusion_probability_ <= 1 + 1e-12)).all()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("background", ["step", "all"])
def test_probabilities_are_those_of_the_formula(background, center):
    model = fitted(background=background, center=center, prior="fixed")
    assert_allclose(np.exp(model.base_background_).sum(axis=1), 1.0)
    for t in (0, 5):
        eta = model.background_[t] + TEXT.effects @ model.coef_path_[t]
        found = model.log_prob(TEXT.effects, time=np.full(TEXT.time.size, t))
        assert_allclose(found, log_softmax(eta, axis=1), atol=1e-12)
    if not center:
        assert_array_equal(model.background_, model.base_background_)
    # After the last step the mode's coefficients and the background are held.
    assert_allclose(model.log_prob(TEXT.effects), found, atol=1e-12)


def test_score_and_perplexity(model):
    by_hand = (TEXT.counts_next.toarray() * model.log_prob(TEXT.effects_next)).sum()
    score = model.score(TEXT.counts_next, TEXT.effects_next)
    assert_allclose(score, by_hand, rtol=1e-12)
    each = model.document_log_likelihood(TEXT.counts_next, TEXT.effects_next)
    assert_allclose(each.sum(), score)
    expected = np.exp(-score / TEXT.counts_next.sum())
    assert_allclose(model.perplexity(TEXT.counts_next, TEXT.effects_next), expected)
    with pytest.raises(DataError, match="no token"):
        model.perplexity(np.zeros((2, 30)), TEXT.effects_next[:2])
    background = TEXT.counts_next.toarray() @ model.base_background_[-1]
    assert score > background.sum()


def test_collapsing_documents_changes_nothing_but_rounding():
    """Two half documents per document are collapsed; a nameless jitter keeps them apart."""
    counts = TEXT.counts.toarray()
    first = np.floor(counts / 2)
    halves = np.vstack([first, counts - first])
    effects, time = np.vstack([TEXT.effects] * 2), np.concatenate([TEXT.time] * 2)
    whole = fitted(prior="fixed", tol=1e-8)
    split = DriftTextModel(prior="fixed", tol=1e-8).fit(halves, effects, time=time)
    assert split.n_contexts_ == whole.n_contexts_ < TEXT.time.size
    jitter = 1e-13 * np.arange(time.size)[:, None]
    apart = DriftTextModel(prior="fixed", tol=1e-8).fit(halves, effects + jitter, time=time)
    assert apart.n_contexts_ == time.size
    assert_allclose(split.coef_path_, whole.coef_path_, atol=1e-10)
    assert_allclose(apart.coef_path_, whole.coef_path_, atol=1e-7)
    learned, joined = fitted(), DriftTextModel().fit(halves, effects, time=time)
    assert_allclose(joined.coef_path_, learned.coef_path_, atol=1e-10)


@pytest.mark.parametrize("kind", [csr_matrix, csr_array, pd.DataFrame, np.asarray])
def test_every_kind_of_table_gives_the_same_fit(kind):
    base = fitted(prior="fixed")
    model = DriftTextModel(prior="fixed").fit(
        kind(TEXT.counts.toarray()), kind(TEXT.effects), time=list(TEXT.time)
    )
    assert_allclose(model.coef_path_, base.coef_path_, atol=1e-12)


def test_an_effect_constant_within_steps_does_no_harm():
    """It says nothing beside a background per step: zero, with a warning, the rest as before."""
    yearly = np.column_stack([TEXT.effects, np.sin(TEXT.time), np.ones(TEXT.time.size)])
    yearly_next = np.column_stack([TEXT.effects_next, np.full((15, 1), 9.0), np.ones(15)])
    with pytest.warns(DataWarning, match="2 effects .'x3', 'x4'. do not vary"):
        model = DriftTextModel().fit(TEXT.counts, yearly, time=TEXT.time)
    assert not model.coef_path_[:, 3:].any()
    assert not model.inclusion_probability_[3:].any()
    base = fitted()
    assert_allclose(model.coef_path_[:, :3], base.coef_path_, atol=1e-12)
    assert_allclose(
        model.score(TEXT.counts_next, yearly_next), base.score(TEXT.counts_next, TEXT.effects_next)
    )
    # With one background for all steps it is what tells steps apart.
    with pytest.warns(DataWarning, match="1 effects .'x4'. do not vary"):
        pooled = DriftTextModel(background="all").fit(TEXT.counts, yearly, time=TEXT.time)
    assert pooled.coef_path_[:, 3].any()


def test_an_effect_that_varies_in_some_steps_only_learns_from_those():
    effects = TEXT.effects.copy()
    effects[TEXT.time == 2, 0] = 5.0
    model = DriftTextModel(prior=Fixed(1.0, 0.0)).fit(TEXT.counts, effects, time=TEXT.time)
    assert_allclose(model.coef_path_[2, 0], 0.0, atol=1e-9)
    assert np.abs(model.coef_path_[3, 0]).max() > 0.1


def test_unseen_words_empty_documents_and_empty_steps_are_defined():
    counts = np.hstack([TEXT.counts.toarray(), np.zeros((TEXT.time.size, 1))])
    counts[0] = 0.0
    time = np.where(TEXT.time >= 3, TEXT.time + 1, TEXT.time)
    for prior in ("learned", "fixed", "exact"):
        model = DriftTextModel(prior=prior, tie="path").fit(counts, TEXT.effects, time=time)
        assert model.coef_path_.shape == (7, 3, 31)
        for part in (model.coef_path_, model.background_, model.log_prob(TEXT.effects_next)):
            assert np.isfinite(part).all()
        assert_allclose(model.base_background_[3], model.base_background_[2])
        assert model.document_log_likelihood(counts[:1], TEXT.effects[:1])[0] == 0.0
    # A step without documents has coefficients between its neighbours'.
    learned = DriftTextModel().fit(counts, TEXT.effects, time=time).coef_path_
    i, w = np.unravel_index(np.argmax(np.abs(learned[3])), learned[3].shape)
    low, high = np.sort(learned[[2, 4], i, w])
    assert low - 0.2 <= learned[3, i, w] <= high + 0.2


def test_without_time_there_is_one_step():
    model = DriftTextModel().fit(TEXT.counts, TEXT.effects)
    assert model.coef_path_.shape[0] == 1
    eta = model.background_[0] + TEXT.effects @ model.coef_path_[0]
    assert_allclose(model.log_prob(TEXT.effects), log_softmax(eta, axis=1), atol=1e-12)


@pytest.mark.parametrize("extrapolate", ["auto", "forecast", "hold"])
def test_steps_after_the_last(extrapolate):
    model = fitted(extrapolate=extrapolate)
    assert model.extrapolate_ == ("average" if extrapolate == "auto" else extrapolate)
    near = model.log_prob(TEXT.effects_next)
    assert_allclose(near, model.log_prob(TEXT.effects_next, time=np.full(15, 6)))
    far = model.log_prob(TEXT.effects_next, time=np.full(15, 40))
    assert np.allclose(near, far) == (model.extrapolate_ == "hold")
    mode = fitted(prior=Fixed(1.0, 0.5), extrapolate="forecast")
    ahead = mode._fit.step(6, forecast=True)
    assert_allclose(ahead.coef, 0.5 * mode.coef_path_[-1])
    assert ahead.uncertainty is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_a_forecast_integrates_over_what_is_not_known(center, sparse):
    """p proportional to E[exp(eta)] of a normal distribution, by hand from posterior moments."""
    model = fitted(center=center, extrapolate="forecast")
    fit = model._fit
    mean, variance = fit.posterior.ahead(1, None)
    x = np.column_stack([TEXT.effects_next, np.zeros(15)]) - fit.center[-1]
    eta = fit.base[-1] + x @ mean.T + 0.5 * x**2 @ variance.T
    effects = csr_array(TEXT.effects_next) if sparse else TEXT.effects_next
    assert_allclose(model.log_prob(effects), log_softmax(eta, axis=1), atol=1e-12)
    assert variance.min() >= 0
    # Where steps are not forecast, the coefficients are the model.
    held = fitted(center=center, extrapolate="hold")
    eta = held.background_[-1] + TEXT.effects_next @ held.coef_path_[-1]
    assert_allclose(held.log_prob(effects), log_softmax(eta, axis=1), atol=1e-12)


@pytest.mark.parametrize("tie", ["effect", "path"])
def test_a_path_of_the_background_is_that_of_an_effect_which_is_always_one(tie):
    options = {"center": False, "tie": tie, "extrapolate": "hold"}
    own = fitted(fit_intercept=True, **options)
    if tie == "path":
        # An explicit column would share its weights with the effects; the background does not.
        assert own._fit.posterior.log_pi.shape[0] == 2
        return
    ones = np.column_stack([TEXT.effects, np.ones(TEXT.time.size)])
    column = DriftTextModel(fit_intercept=False, **options).fit(TEXT.counts, ones, time=TEXT.time)
    assert_allclose(own.objective_history_, column.objective_history_, rtol=1e-12)
    assert_allclose(own.coef_path_, column.coef_path_[:, :3], atol=1e-9)
    lifted = column.base_background_ + column.coef_path_[:, 3]
    assert_allclose(own.background_, lifted, atol=1e-9)


def test_the_background_has_its_own_path_only_where_it_is_estimated_with_the_learned_prior():
    assert fitted()._fit.unit.size == 4
    for options in (
        {"prior": "fixed"},
        {"prior": "exact"},
        {"background": np.zeros(30)},
        {"fit_intercept": False},
    ):
        assert fitted(**options)._fit.unit.size == 3
    assert fitted(prior="fixed", fit_intercept=True)._fit.unit.size == 4


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_a_path_of_the_background_undoes_what_averaging_over_documents_gets_wrong():
    """A word of one of two sources only: shares say half, and no centred effect can say so."""
    rng = np.random.default_rng(0)
    source = np.tile([0.0, 1.0], 60)
    rates = np.ones((120, 8))
    rates[:, 6] = np.where(source == 1, 4.0, 1e-3)
    counts = rng.poisson(60 * rates)
    time = np.repeat(np.arange(6), 20)
    truth = np.log(rates / rates.sum(axis=1, keepdims=True))[:2]
    errors = []
    for fit_intercept in (False, True):
        model = DriftTextModel(fit_intercept=fit_intercept).fit(counts, source[:, None], time=time)
        found = model.log_prob(np.array([[0.0], [1.0]]))
        errors.append(-(np.exp(truth) * (found - truth)).sum())
    assert errors[1] < 0.2 * errors[0]


def test_a_given_background_is_not_averaged():
    theta = np.zeros((6, 30))
    model = fitted(background=theta)
    assert_array_equal(model.background_, theta)
    assert list(model.extrapolation_weights_) == ["forecast", "held"]


def test_words_come_from_frames_and_unknown_ones_are_ignored():
    names = [f"word{j}" for j in range(30)]
    frame = pd.DataFrame(TEXT.counts.toarray(), columns=names)
    model = DriftTextModel(prior="fixed").fit(frame, TEXT.effects, time=TEXT.time)
    assert list(model.vocabulary_) == names
    new = pd.DataFrame(TEXT.counts_next.toarray(), columns=names)
    score = model.score(new, TEXT.effects_next)
    shuffled = new[names[::-1]].assign(unheard=7.0)
    assert_allclose(model.score(shuffled, TEXT.effects_next), score)
    fewer = new.drop(columns="word3")
    known = new.assign(word3=0.0)
    assert_allclose(model.score(fewer, TEXT.effects_next), model.score(known, TEXT.effects_next))
    with pytest.raises(DataError, match="none of them"):
        model.score(pd.DataFrame({"a": [1.0], "b": [2.0]}), TEXT.effects_next[:1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": -TEXT.counts}, "counts are 0 or more"),
        ({"counts": 0 * TEXT.counts}, "no document has a token"),
        ({"effects": TEXT.effects[1:]}, "effects has 89 rows but counts has 90"),
        ({"params": {"vocabulary": ["a", "b"]}}, "30 columns but the vocabulary has 2 words"),
        ({"params": {"vocabulary": ["a"] * 30}}, "twice"),
        ({"params": {"background": np.zeros(4)}}, "background has shape"),
        ({"params": {"smoothing": 0.0}}, "smoothing"),
        ({"params": {"tie": "word"}}, "tie"),
    ],
)
def test_bad_input_says_what_is_wrong(change, message):
    model = DriftTextModel(**change.get("params", {}))
    with pytest.raises(ValueError, match=message):
        model.fit(
            change.get("counts", TEXT.counts), change.get("effects", TEXT.effects), time=TEXT.time
        )


def test_a_class_instead_of_an_object_is_explained():
    with pytest.raises((TypeError, ValueError), match="prior"):
        fitted(prior=Exact)


def test_stopping_early_warns_and_modes_have_no_deviations():
    with pytest.warns(ConvergenceWarning, match="2 passes"):
        fitted(max_iter=2)
    model = fitted(prior="fixed")
    assert not hasattr(model, "coef_std_path_")


def test_the_paper_s_priors_report_their_rate():
    assert fitted(prior="exact", tie="path").rate_ == 1.0
    estimated = fitted(prior=Exact(rate="estimate"), tie="path")
    assert -100 <= estimated.rate_ <= 100
    assert set(np.unique(estimated.inclusion_probability_)) <= {0.0, 1.0}
    assert not hasattr(fitted(), "rate_")


def test_given_weights_are_kept():
    prior = Learned(shares=(1.0,), n_scales=2, weights=(0.8, 0.1, 0.1))
    model = fitted(prior=prior)
    assert_allclose(np.exp(model._fit.posterior.log_pi), np.tile([0.8, 0.1, 0.1], (4, 1)))


def test_units_of_effects_do_not_matter_to_the_learned_prior():
    rng = np.random.default_rng(3)
    effects = TEXT.effects + rng.normal(size=TEXT.effects.shape)
    one = DriftTextModel().fit(TEXT.counts, effects, time=TEXT.time)
    ten = DriftTextModel().fit(TEXT.counts, 10 * effects, time=TEXT.time)
    assert_allclose(10 * ten.coef_path_, one.coef_path_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_it_can_be_cloned_and_verbose_writes_one_line(capsys):
    model = clone(DriftTextModel(tie="path", verbose=True, max_iter=11))
    model.fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    assert "pass 10" in capsys.readouterr().err


def test_simulated_text_follows_its_truth():
    """Shares of 200,000 tokens a document are those of the formula, to five standard errors."""
    text = simulate_text(n_words=12, n_effects=2, tokens_per_doc=200_000, docs_per_step=3)
    eta = text.background[text.time] + np.einsum(
        "ni,niw->nw", text.effects, text.coef_path[text.time]
    )
    p = np.exp(log_softmax(eta, axis=1))
    error = (text.counts.toarray() / 200_000 - p) / np.sqrt(p * (1 - p) / 200_000)
    assert np.abs(error).max() < 5.0
    assert text.planted.sum() == 2 * 10
    assert_array_equal(text.planted, text.coef_path.any(axis=0))
    again = simulate_text(n_words=12, n_effects=2, tokens_per_doc=200_000, docs_per_step=3)
    assert_array_equal(again.counts_next.toarray(), text.counts_next.toarray())


def test_a_model_survives_pickling(model):
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_array_equal(again.log_prob(TEXT.effects_next), model.log_prob(TEXT.effects_next))
