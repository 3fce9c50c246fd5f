"""A corpus: rows are selected, texts are read when they are asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest

from driftglm.data.timesteps import fit_axis
from driftglm.datasets import load_10k_corpus
from driftglm.exceptions import DataError, TimeError


def test_rows_can_be_selected_and_the_frame_is_the_users_own(reports_folder):
    corpus = load_10k_corpus(reports_folder)
    some = corpus.select(corpus.frame["company"] == "FIRM 2")
    assert list(some.texts()) == ["report 2011 2 risk", "report 2012 2 risk"]
    assert some.frame.index.tolist() == [0, 1]
    again = some.select(some.frame["year"] == 2012)
    assert list(again.documents) == list(again.documents) == ["report 2012 2 risk"]
    assert len(again.documents) == 1
    assert list(corpus.select(np.zeros(6, dtype=bool)).texts()) == []
    corpus.frame["key"] = "mine"
    assert next(corpus.texts()) == "report 2011 0 risk"
    with pytest.raises(DataError, match="one boolean for each of the 6 rows"):
        corpus.select([0, 1])


def test_a_corpus_can_be_sent_to_another_process(reports_folder):
    corpus = load_10k_corpus(reports_folder)
    assert list(pickle.loads(pickle.dumps(corpus)).texts()) == list(corpus.texts())  # noqa: S301


def test_timesteps_are_the_periods_of_the_filing_dates(reports_folder):
    corpus = load_10k_corpus(reports_folder)
    axis, codes = fit_axis(corpus.timesteps(), len(corpus))
    assert codes.tolist() == [0, 0, 0, 1, 1, 1]
    assert axis.labels[0] == pd.Period("2011", "Y")
    assert corpus.timesteps("M")[1] == pd.Period("2011-03", "M")
    with pytest.raises(TimeError, match="freq='fortnight' is no pandas period alias"):
        corpus.timesteps("fortnight")
