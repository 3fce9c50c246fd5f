"""Bursts of words: what is estimated from documents of one context, and what follows for a fit."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import driftglm
from driftglm import DriftTextModel
from driftglm.fitting.text_bursts import Bursts, Lengths, discounted, estimate_bursts, word_moments
from driftglm.fitting.text_data import collapse, effect_design, find_contexts, text_problem
from driftglm.simulate import simulate_text
from driftglm.solvers.text_problem import counts_by_word, squared_shares

N_WORDS, N_STEPS, N_DOCS = 150, 5, 30
RHO = 0.02


def documents(seed=0, rho=RHO, squared=None, *, least=50, most=600):
    """Documents drawn from a Dirichlet-multinomial; effects that say nothing about them.

    With `squared` (V,) words have bursts of their own: gamma rates of that squared variation.
    """
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(N_STEPS), N_DOCS)
    shares = rng.dirichlet(np.full(N_WORDS, 1.0), size=N_STEPS)
    lengths = rng.integers(least, most, time.size)
    counts = np.zeros((time.size, N_WORDS))
    for d, t in enumerate(time):
        p = rng.dirichlet(shares[t] * (1 / rho - 1) + 1e-9) if rho else shares[t]
        p = p if squared is None else p * rng.gamma(1 / squared) * squared
        counts[d] = rng.multinomial(lengths[d], p / p.sum())
    effects = (rng.random((time.size, 2)) < [0.5, 0.2]).astype(float)
    return csr_array(counts), effects, time


def bursts_of(counts, effects, time):
    return collapse(counts, effects, time, bursts=True).bursts()


# ------------------------------------------------------------------------------ moments


def test_sums_are_those_of_the_formula():
    """Word by word and document by document, without any of the shortcuts."""
    counts, effects, time = documents(least=3, most=9)
    contexts = collapse(counts, effects, time, bursts=True)
    (spread, alone, more), _ = word_moments(
        contexts.by_word(), counts_by_word(contexts.squares), contexts.lengths
    )
    table = counts.toarray()
    tokens = table.sum(axis=1)
    expected = np.zeros((3, N_WORDS))
    for context in range(contexts.codes.size):
        docs = np.flatnonzero(contexts.member == context)
        if docs.size < 2:
            continue
        n, total = tokens[docs], tokens[docs].sum()
        p = table[docs].sum(axis=0) / total
        variance = p * (1 - p) * total / (total - 1)
        expected[0] += ((table[docs] - np.outer(n, p)) ** 2 / n[:, None]).sum(axis=0)
        expected[1] += variance * np.sum(1 - n / total)
        expected[2] += variance * np.sum((1 - n / total) * (n - 1))
    assert_allclose([spread, alone, more], expected, rtol=1e-10, atol=1e-12)


def test_independent_tokens_have_the_mean_and_variance_that_are_said(rng):
    """Documents of given lengths share out the tokens of a word: many draws of that."""
    lengths, total = np.array([30, 60, 110]), 12
    facts = Lengths.of(lengths.astype(float), np.zeros(3, dtype=int), 1)
    draws = rng.multivariate_hypergeometric(lengths, total, size=40_000)
    context = np.array([[total, lengths.sum() - total]])
    found = []
    for draw in draws[:500]:
        table = csr_array(np.column_stack([draw, lengths - draw]).astype(float))
        squares = counts_by_word(
            csr_array(squared_shares(table, lengths.astype(float)).sum(axis=0)[None])
        )
        found.append(word_moments(counts_by_word(csr_array(context)), squares, facts))
    fast = ((draws - total * lengths / 200) ** 2 / lengths).sum(axis=1)
    assert_allclose([each[0][0, 0] for each in found], fast[:500], atol=1e-12)
    assert_allclose(fast.mean(), found[0][0][1, 0], rtol=0.02)
    # The variance is that of draws with replacement, which tokens of a rare word nearly are.
    replaced = rng.multinomial(total, lengths / 200, size=40_000)
    slow = ((replaced - total * lengths / 200) ** 2 / lengths).sum(axis=1)
    assert_allclose(slow.var(), found[0][1][0, 0], rtol=0.05)


# ---------------------------------------------------------------------------- estimates


@pytest.mark.parametrize("rho", [0.003, 0.02, 0.1])
def test_the_correlation_of_drawn_documents_is_found(rho):
    found = [bursts_of(*documents(seed, rho)).correlation for seed in range(4)]
    assert_allclose(np.mean(found), rho, rtol=0.15)


def test_independent_tokens_are_left_as_they_are():
    assert sum(bursts_of(*documents(seed, 0.0)) is not None for seed in range(20)) <= 1


def test_words_that_vary_more_are_told_from_others():
    squared = np.where(np.arange(N_WORDS) % 3 == 0, 2.0, 0.02)
    found = bursts_of(*documents(1, 0.0, squared))
    assert (found.words >= 1).all()
    often = documents(1, 0.0, squared)[0].sum(axis=0) > 200
    bursty = squared > 1
    assert np.median(found.words[often & bursty]) > 2 * np.median(found.words[often & ~bursty])


def test_rows_permuted_change_nothing(rng):
    counts, effects, time = documents()
    order = rng.permutation(time.size)
    found, other = (
        bursts_of(counts, effects, time),
        bursts_of(counts[order], effects[order], time[order]),
    )
    assert_allclose(other.correlation, found.correlation, rtol=1e-10)
    assert_allclose(other.words, found.words, rtol=1e-8)


def test_a_cut_estimates_from_its_own_documents():
    counts, effects, time = documents()
    early = time < 3
    cut = collapse(counts, effects, time, bursts=True).before(3).bursts()
    alone = bursts_of(counts[early], effects[early], time[early])
    assert_allclose(cut.correlation, alone.correlation, rtol=1e-12)
    assert_allclose(cut.words, alone.words, rtol=1e-10)


def test_no_words_that_vary_leave_factors_of_one():
    sums = np.array([[12.0, 12.0], [10.0, 10.0], [100.0, 100.0]])
    found = estimate_bursts((sums, np.full((3, 2), 0.01)))
    assert_allclose(found.correlation, 0.02)
    assert_array_equal(found.words, [1.0, 1.0])


# ------------------------------------------------------------------------- what follows


def test_a_document_counts_for_as_many_tokens_as_it_is_worth():
    """N / (1 + (N - 1) rho) for one document, of two the design effect of their sum."""
    lengths = Lengths.of(np.array([100.0, 40.0, 60.0]), np.array([0, 1, 1]), 2)
    counts = counts_by_word(csr_array(np.array([[70.0, 30.0], [50.0, 50.0]])))
    bursts = Bursts(0.05, np.array([1.0, 2.0]))
    _, _, values = discounted(counts, bursts.contexts(lengths), bursts.words)
    alone = 1 + 99 * 0.05
    both = (40 * (1 + 39 * 0.05) + 60 * (1 + 59 * 0.05)) / 100
    assert_allclose(values, [70 / alone, 50 / both, 15 / alone, 25 / both])


def test_counts_and_background_of_a_word_are_divided_alike():
    """Weighted Poisson regressions: rates stay what they are, log-likelihoods count for less."""
    counts, effects, time = documents()
    contexts = collapse(counts, effects, time, bursts=True)
    bursts, base = contexts.bursts(), contexts.log_background(N_STEPS, "step", 0.5)
    design = effect_design(contexts, N_STEPS, "step", np.ones(2))
    plain, found = (text_problem(contexts, base, design, each) for each in (None, bursts))
    assert_allclose(
        found.background - plain.background, -np.log(bursts.words)[:, None] * np.ones(5)
    )
    worth = np.bincount(found.counts[1], found.counts[2])
    assert_allclose(found.totals, worth)
    assert found.totals.sum() < 0.5 * plain.totals.sum()
    assert_array_equal(found.design.mean, plain.design.mean)


def test_few_words_are_included_for_effects_that_mean_nothing():
    """Independent tokens would find dozens; the objective never falls."""
    bold, calm = [], []
    for seed in range(2):
        data = documents(seed)
        for found, how in ((bold, None), (calm, "auto")):
            model = DriftTextModel(burstiness=how, extrapolate="forecast")
            model.fit(*data[:2], time=data[2])
            found.append((model.inclusion_probability_ > 0.9).mean())
            history = model.objective_history_
            assert np.diff(history).min() >= -1e-9 * abs(history[-1])
    assert np.mean(bold) > 0.3
    assert np.mean(calm) <= 0.01


def test_effects_that_mean_something_are_found_in_bursts():
    """Words of an effect are ten times as frequent; every other document has it."""
    rng = np.random.default_rng(3)
    counts, effects, time = documents(3)
    table = counts.toarray()
    table[effects[:, 0] > 0, :5] += rng.poisson(30, ((effects[:, 0] > 0).sum(), 5))
    model = DriftTextModel(extrapolate="forecast").fit(table, effects, time=time)
    sure = model.inclusion_probability_[0] > 0.9
    assert sure[:5].all()
    assert sure[5:].mean() < 0.03


@pytest.mark.parametrize("case", ["a context each", "independent"])
def test_where_nothing_is_found_nothing_changes(case):
    text = simulate_text(n_words=40, n_effects=2, random_state=0)
    effects = text.effects
    if case == "a context each":
        effects = effects + 1e-6 * np.arange(len(effects))[:, None]
        assert find_contexts(effects, text.time, np.ones(len(effects), bool))[0].size == len(
            effects
        )
    models = [
        DriftTextModel(burstiness=how).fit(text.counts, effects, time=text.time)
        for how in (None, "estimate")
    ]
    assert models[1].burstiness_ == 0.0
    assert_array_equal(models[1].word_burstiness_, 1.0)
    assert_array_equal(models[0].coef_path_, models[1].coef_path_)


def test_users_see_raw_counts_and_what_was_estimated(tmp_path):
    counts, effects, time = documents()
    model = DriftTextModel().fit(counts, effects, time=time)
    assert_allclose(model.burstiness_, RHO, rtol=0.3)
    assert model.word_burstiness_.shape == (N_WORDS,)
    log_p = model.log_prob(effects, time=time)
    assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    assert_allclose(model.score(counts, effects, time), (counts.toarray() * log_p).sum())
    raw = np.asarray(counts[time == 2].sum(axis=0)) + 0.5
    assert_allclose(np.exp(model.base_background_[2]), raw / raw.sum())
    model.save(tmp_path / "m.drift")
    again = driftglm.load(tmp_path / "m.drift")
    assert again.burstiness_ == model.burstiness_
    assert_array_equal(again.word_burstiness_, model.word_burstiness_)
    assert clone(model).burstiness == "auto"


def test_a_given_correlation_is_used_and_the_paper_s_priors_have_none():
    counts, effects, time = documents()
    given = DriftTextModel(burstiness=0.1, extrapolate="forecast").fit(counts, effects, time=time)
    assert given.burstiness_ == 0.1
    assert_array_equal(given.word_burstiness_, 1.0)
    paper = DriftTextModel(prior="fixed").fit(counts, effects, time=time)
    assert paper.burstiness_ == 0.0
    asked = DriftTextModel(prior="fixed", burstiness="estimate").fit(counts, effects, time=time)
    assert asked.burstiness_ > 0
    assert np.abs(asked.coef_path_).sum() < np.abs(paper.coef_path_).sum()


@pytest.mark.parametrize("wrong", ["bursty", 1.0, -0.1])
def test_a_burstiness_that_cannot_be_is_refused(wrong):
    counts, effects, time = documents()
    with pytest.raises(ValueError, match="'burstiness' parameter"):
        DriftTextModel(burstiness=wrong).fit(counts, effects, time=time)


def test_lengths_of_some_contexts():
    lengths = Lengths.of(np.array([10.0, 20.0, 5.0]), np.array([0, 0, 1]), 2)
    taken = lengths.take(np.array([1]))
    assert [float(each[0]) for each in dataclasses.astuple(taken)] == [1.0, 5.0, 25.0, 0.2]
