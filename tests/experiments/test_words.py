"""Words of a corpus, ranked anew at every origin."""

import tracemalloc

import numpy as np

from driftglm.datasets import load_10k_corpus
from driftglm.experiments import Settings
from driftglm.experiments.paper import FORECASTING
from driftglm.experiments.words import count_words
from driftglm.text import RankedVocabulary


def test_training_words_are_those_a_vocabulary_fitted_to_the_training_documents_has(reports):
    corpus = load_10k_corpus(reports)
    years = corpus.frame["year"].to_numpy()
    settings = Settings(ranks=(5, 30)).resolved(sorted(set(years)), FORECASTING)
    words = count_words(corpus, years, settings)
    counts = words.with_columns()
    names = np.array(words.words)
    for year in (settings.dev, *settings.test):
        train = corpus.select(years < year)
        expected = RankedVocabulary(first=5, last=30).fit(train.texts())
        chosen = words.selector("training", settings).fit(counts[years < year])
        assert names[chosen.columns_].tolist() == list(expected.vocabulary_)
        np.testing.assert_array_equal(
            chosen.transform(counts).toarray(), expected.transform(corpus.texts()).toarray()
        )
    everything = RankedVocabulary(first=5, last=30).fit(corpus.texts())
    assert names[words.chosen].tolist() == list(everything.vocabulary_)


def test_training_words_do_not_see_the_test_documents(reports, rewrite_texts):
    settings = Settings(models=("lasso-all",), ranks=(3, 40))
    years = range(2011, 2017)
    resolved = settings.resolved(years, FORECASTING)

    def chosen(variant):
        corpus = load_10k_corpus(reports)
        row_years = corpus.frame["year"].to_numpy()
        words = count_words(corpus, row_years, resolved)
        selector = words.selector(variant, resolved).fit(words.with_columns()[row_years < 2016])
        return np.array(words.words)[selector.columns_].tolist()

    before = {variant: chosen(variant) for variant in ("all", "training")}
    # Other words altogether in the last test year, each more frequent than any other.
    rewrite_texts(reports, 2016, " ".join(["novel words everywhere"] * 900))
    assert chosen("training") == before["training"]
    assert "novel" not in before["all"]
    assert chosen("all") != before["all"]


def test_texts_are_never_in_memory_together(reports, rewrite_texts):
    text = " ".join(f"w{k:03d}" for k in range(60)) * 130
    for year in range(2011, 2017):
        rewrite_texts(reports, year, text)
    corpus = load_10k_corpus(reports)
    years = corpus.frame["year"].to_numpy()
    settings = Settings(ranks=(3, 50)).resolved(range(2011, 2017), FORECASTING)
    tracemalloc.start()
    count_words(corpus, years, settings).with_columns()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * len(text) * len(corpus)
