"""What owners of the whole 10-K corpus are told: a made-up one with all the known figures."""

import io
import os
import tarfile

import numpy as np
import pytest

from driftglm.datasets import load_10k_corpus
from driftglm.datasets.tenk_known import MEGABYTES, NAIVE_MSE, PAPER_ROWS, ROWS
from driftglm.exceptions import DataError, DataWarning

REPEATS = {1997: 3, 2001: 4, 2006: 2}
"""Seven repeated keys to 2005 and nine to 2006; in which years they lie is not known."""
OTHER_ERROR = (6 * 0.1578 - sum(NAIVE_MSE.values())) / 3
"""Of 2001, 2002 and 2006: the mean of the six years is .1578 then."""


def write_year(folder, year):
    """As many lines as known, some of them repeated, and a document a key."""
    n_lines, repeats = ROWS[year], REPEATS.get(year, 0)
    keys = [f"{year}{k:05d}-10-K-{year}0315" for k in range(n_lines - repeats)]
    listed = [*keys, *keys[:repeats]]
    error = np.sqrt(NAIVE_MSE.get(year, OTHER_ERROR))
    for name, value in (("+12", -3.5), ("-12", -3.5 + error)):
        text = "".join(f"{value:.12f} {key}\n" for key in listed)
        (folder / f"{year}.logvol.{name}.txt").write_text(text)
    meta = "".join(f"{key}\t{year}0315\turl\tFIRM\t{k}\n" for k, key in enumerate(keys))
    (folder / f"{year}.meta.txt").write_text(meta)
    with tarfile.open(folder / f"{year}.tok.tgz", "w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo()
        info.size = 5
        for key in keys:
            info.name = f"{year}.tok/{key}.mda"
            archive.addfile(info, io.BytesIO(b"words"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """45 files of 364.4 MB, most of it a hole in one of them."""
    folder = tmp_path_factory.mktemp("10k")
    for year in ROWS:
        write_year(folder, year)
    used = sum(path.stat().st_size for path in folder.iterdir())
    with (folder / "README").open("wb") as stream:
        stream.truncate(round(MEGABYTES * 1e6) - used)
    return folder


def without_line(path, number):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:number] + lines[number + 1 :]))


def test_the_whole_corpus_has_every_figure_that_is_known(whole):
    record = load_10k_corpus(whole, strict=True).provenance
    assert record.ok
    assert len(record.checks) == 11 + 1 + 3 + 1 + 1 + 2 + 2
    assert (record.rows_read, record.rows) == (sum(ROWS.values()), sum(ROWS.values()) - 9)
    assert f"ok: distinct reports of 1996-2005: {PAPER_ROWS}" in str(record)
    assert "DIFFERS" not in str(record)


def test_the_paper_years_alone_have_seven_repeated_keys(whole):
    record = load_10k_corpus(whole, range(1996, 2006), strict=True).provenance
    assert (record.rows_read, record.rows) == (27_166, PAPER_ROWS)
    assert "ok: repeated keys of 1996-2005: 7" in str(record)


def test_what_differs_is_named_with_both_figures_and_nothing_else_is(whole, tmp_path):
    folder = tmp_path / "10k"
    folder.mkdir()
    for path in whole.iterdir():
        if path.name != "README":
            os.link(path, folder / path.name)
    for name in ("2003.logvol.+12.txt", "2004.logvol.-12.txt"):
        text = (folder / name).read_text()
        (folder / name).unlink()  # the linked file stays as it is
        (folder / name).write_text(text)
    without_line(folder / "2003.logvol.+12.txt", 5)
    changed = (folder / "2004.logvol.-12.txt").read_text().replace("-3.120", "-3.020", 1000)
    (folder / "2004.logvol.-12.txt").write_text(changed)
    with pytest.warns(DataWarning, match="differs from what is known of it in") as caught:
        record = load_10k_corpus(folder).provenance
    wrong = [check.what for check in record.checks if not check.ok]
    assert wrong == [
        "rows of 2003",
        "distinct reports of 1996-2005",
        "mean squared error of the past volatility in 2004",
        "mean squared error of the past volatility, mean of 2001-2006",
        "files in the folder",
        "megabytes in the folder",
    ]
    (said,) = {str(each.message) for each in caught}
    assert "in 6 of 21 figures: rows of 2003: 3611, expected 3612; " in said
    assert "files in the folder: 44, expected 45" in said
    assert "DIFFERS: rows of 2003: 3611, expected 3612" in str(record)
    assert record.dropped["documents without key"] == 1
    with pytest.raises(DataError, match=r"rows of 2003: 3611, expected 3612.*strict=False"):
        load_10k_corpus(folder, strict=True)
