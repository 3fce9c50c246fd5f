"""Reports whose words are counted already."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from driftglm.datasets import load_counted_reports
from driftglm.datasets.tenk_counts import is_counted
from driftglm.exceptions import DataError


def write(folder, frame, counts, words):
    frame.to_csv(folder / "docs.csv.gz", index=False)
    sp.save_npz(folder / "counts.npz", sp.csr_matrix(counts))
    pd.DataFrame({"word": words}).to_csv(folder / "vocab.csv", index=False)


def reports():
    keys = ["000000001-10-K-20030301", "000000002-10-K-20030301", "000000001-10-K-20040301"]
    numbers = {"year": [2003, 2003, 2004], "label": [-3.0, -3.5, -2.5], "past": [-3.1, None, -3.0]}
    return pd.DataFrame({"key": keys} | numbers)


def test_reports_without_a_past_are_left_out_with_their_words(tmp_path):
    write(tmp_path, reports(), np.arange(6).reshape(3, 2), ["null", "loss"])
    assert is_counted(tmp_path)
    found = load_counted_reports(tmp_path)
    assert found.words == ("null", "loss")  # not a missing value
    assert found.counts.toarray().tolist() == [[0, 1], [4, 5]]
    assert found.frame["firm"].tolist() == ["000000001", "000000001"]
    assert found.frame["logvol_after"].tolist() == [-3.0, -2.5]
    assert found.frame["logvol_before"].tolist() == [-3.1, -3.0]
    assert (found.provenance.rows_read, found.provenance.rows) == (3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="past"), "no column 'past'"),
        (lambda f: f.iloc[:2], "do not belong together"),
        (lambda f: f.assign(label=[-3.0, None, -2.0]), "without label"),
        (lambda f: f.assign(past=np.nan), "no report has a past"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, change, message):
    write(tmp_path, change(reports()), np.ones((3, 2)), ["a", "b"])
    with pytest.raises(DataError, match=message):
        load_counted_reports(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    assert not is_counted(tmp_path)
    with pytest.raises(DataError, match=r"has no counts\.npz"):
        load_counted_reports(tmp_path)
