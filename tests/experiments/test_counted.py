"""The forecasting experiment on reports whose words are counted already."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from driftglm.exceptions import DataError
from driftglm.experiments import Settings, reproduce_forecasting, reproduce_text
from driftglm.experiments.paper import EVERYONE
from driftglm.experiments.words import counted_words


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Six years of reports in which the past and one word matter; every fifth has no past."""
    folder = tmp_path_factory.mktemp("counted")
    rng = np.random.default_rng(0)
    years = np.repeat(np.arange(2000, 2006), 40)
    counts = rng.poisson(np.geomspace(3, 0.3, 30), size=(years.size, 30))
    past = rng.normal(-3.5, 0.4, years.size)
    label = 0.6 * past + 0.5 * (counts[:, 10] > 0) + rng.normal(0, 0.2, years.size)
    keys = [f"{i % 40:09d}-10-K-{year}0301" for i, year in enumerate(years)]
    past[::5] = np.nan
    frame = pd.DataFrame({"key": keys, "year": years, "label": label, "past": past})
    frame.to_csv(folder / "docs.csv.gz", index=False)
    sp.save_npz(folder / "counts.npz", sp.csr_matrix(counts.astype(np.uint8)))
    words = pd.DataFrame({"word": [f"w{k:02d}" for k in range(30)]})
    words.to_csv(folder / "vocab.csv", index=False)
    return folder


def test_all_ten_take_part_and_the_paper_chooses_its_rate_on_the_dev_year(counted):
    settings = Settings(ranks=(3, 25), vocabulary="training", test=(2004, 2005))
    result = reproduce_forecasting(counted, settings=settings)
    comparison = result.comparisons["training"]
    assert tuple(comparison.models) == EVERYONE
    assert comparison.rows.size == 2 * 32
    assert {params["driftregressor__prior"] for params in comparison.params["paper"]} != set()
    overall = result.table("training")["overall", "ours"]
    assert overall["learned"] < 0.8 * overall["past volatility"]
    tests = result.significance("training")
    assert tests["p_years"].between(0, 1).all()
    assert set(result.top["feature"]) >= {"w10", "past volatility"}


def test_it_resumes_with_the_same_figures(counted, tmp_path):
    models = ("lasso-all", "forecast")
    settings = Settings(models=models, ranks=(3, 25), vocabulary="all", test=(2005,))
    first = reproduce_forecasting(counted, out=tmp_path, settings=settings)
    again = reproduce_forecasting(counted, out=tmp_path, settings=settings)
    pd.testing.assert_frame_equal(first.table(), again.table())


def test_words_are_ranked_by_how_often_they_occur_and_then_by_name():
    counts = sp.csr_matrix([[1, 5, 2, 2], [0, 5, 0, 0]])
    found = counted_words(counts, ["d", "b", "c", "a"], Settings(ranks=(2, 3), dev=1, test=(2,)))
    assert found.words == ("a", "b", "c", "d")
    assert [found.words[k] for k in found.chosen] == ["a", "c"]
    assert found.counts.toarray().tolist() == [[2, 5, 2, 1], [0, 5, 0, 0]]


def test_the_text_experiment_knows_neither_of_the_two(tmp_path):
    (tmp_path / "documents.csv").write_text("id,date,source,text\n1,2003-01-01,a,b\n")
    with pytest.raises(DataError, match="'forecast' belongs to forecasting"):
        reproduce_text(tmp_path, settings=Settings(models=("forecast",)))
