"""The files of a year of annual reports: what is missing or damaged is named."""

import pytest

from driftglm.datasets import load_10k_corpus
from driftglm.exceptions import DataError


def append(path, text):
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize("kind", ["logvol.+12.txt", "logvol.-12.txt", "meta.txt", "tok.tgz"])
def test_a_missing_file_is_named(kind, reports_folder):
    (reports_folder / f"2012.{kind}").unlink()
    with pytest.raises(DataError) as caught:
        load_10k_corpus(reports_folder)
    assert str(caught.value).startswith(f"2012.{kind} is missing from the folder 'corpus'")


@pytest.mark.parametrize(
    ("kind", "line", "message"),
    [
        ("logvol.+12.txt", "abc key", r"2011.logvol.\+12.txt, line 4: 'abc' is no volatility"),
        ("logvol.-12.txt", "nan key", "2011.logvol.-12.txt, line 4: 'nan' is no volatility"),
        ("logvol.+12.txt", "-inf key", "line 4: '-inf' is no volatility"),
        ("logvol.+12.txt", "-3.5", "line 4: has 1 fields"),
        ("logvol.+12.txt", "-3.5 key more", "line 4: has 3 fields"),
        ("meta.txt", "key\t20110101\turl", "2011.meta.txt, line 4: has 3 fields between tabs"),
        ("meta.txt", "key\t20111301\turl\tfirm\t1", "2011.meta.txt, line 4: '20111301' is no date"),
        ("meta.txt", "key\t00010101\turl\tfirm\t1", "line 4: '00010101' is no date"),
        ("meta.txt", "key\t2011-1-1\turl\tfirm\t1", "line 4: '2011-1-1' is no date"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(kind, line, message, reports_folder):
    append(reports_folder / f"2011.{kind}", f"{line}\n")
    with pytest.raises(DataError, match=message):
        load_10k_corpus(reports_folder)
