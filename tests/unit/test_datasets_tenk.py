"""The 10-K corpus: a small one in the exact layout, the sample of real reports, and damage."""

import gzip
import io
import os
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets import load_10k_corpus
from driftglm.exceptions import DataError, DataWarning
from driftglm.text import RankedVocabulary

DATA = Path(os.environ.get("DRIFTGLM_DATA", Path(__file__).parents[3] / "shared" / "data"))
SAMPLE = DATA / "mda10k_vol" / "kogan_format_sample"
KEYS = ["000361105-10-K-20110714", "000886309-10-K-20110302", "001055102-10-K-20110228"]


def pack(path, texts):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in texts:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))


def append(path, text):
    path.write_text(path.read_text() + text)


def test_a_small_corpus_comes_as_it_was_written(reports_folder):
    before = sorted(reports_folder.parent.rglob("*"))
    corpus = load_10k_corpus(reports_folder)
    assert list(corpus.frame.columns) == [
        "key", "year", "date", "cik", "company", "logvol_after", "logvol_before"
    ]  # fmt: skip
    assert corpus.frame["year"].tolist() == [2011] * 3 + [2012] * 3
    assert corpus.frame["key"].tolist()[:3] == KEYS
    assert corpus.frame["date"].iloc[0] == pd.Timestamp(2011, 7, 14)
    assert corpus.frame["cik"].tolist() == [100, 101, 102] * 2
    assert corpus.frame["company"].iloc[1] == "FIRM 1"
    assert corpus.frame["logvol_after"].tolist() == [-2.5, -3.5, -4.5] * 2
    assert corpus.frame["logvol_before"].tolist() == [-3.0, -4.0, -5.0] * 2
    assert list(corpus.texts()) == [f"report {y} {i} risk" for y in (2011, 2012) for i in range(3)]
    assert (corpus.provenance.rows_read, corpus.provenance.rows, len(corpus)) == (6, 6, 6)
    assert corpus.provenance.ok
    assert set(corpus.provenance.dropped.values()) == {0}
    assert sorted(reports_folder.parent.rglob("*")) == before  # nothing was unpacked


def test_texts_are_in_the_order_of_the_rows_however_the_archive_is_ordered(write_reports, tmp_path):
    keys = write_reports(tmp_path, 2011, order=[2, 0, 1])
    corpus = load_10k_corpus(tmp_path)
    for row, text in zip(corpus.frame.itertuples(), corpus.texts(), strict=True):
        i = keys.index(row.key)
        assert text == f"report 2011 {i} risk"
        assert (row.logvol_before, row.cik) == (-3.0 - i, 100 + i)


@pytest.mark.parametrize("years", [2012, [2012], (2012, 2012), np.array([2012])])
def test_years_can_be_chosen(years, reports_folder):
    assert set(load_10k_corpus(reports_folder, years=years).frame["year"]) == {2012}


def test_ranked_words_of_a_stream_are_those_of_a_list(reports_folder):
    corpus = load_10k_corpus(reports_folder)
    stream = RankedVocabulary(first=1, last=None).fit(corpus.texts())
    whole = RankedVocabulary(first=1, last=None).fit(list(corpus.texts()))
    assert stream.vocabulary_ == whole.vocabulary_
    X = stream.fit_transform(corpus.documents)
    assert X.shape == (6, len(stream.vocabulary_))


# -------------------------------------------------------------------- what is counted and skipped


def test_repeated_keys_are_dropped_and_counted(reports_folder):
    append(reports_folder / "2011.logvol.+12.txt", f"-9.0 {KEYS[0]}\n")
    append(reports_folder / "2011.logvol.-12.txt", f"-9.0 {KEYS[0]}\n")
    corpus = load_10k_corpus(reports_folder)
    assert (corpus.provenance.rows_read, len(corpus)) == (7, 6)
    assert corpus.provenance.dropped["repeated keys"] == 1
    assert corpus.frame["logvol_after"].iloc[0] == -2.5
    assert "7 rows read, 6 kept\n  skipped 1: repeated keys" in str(corpus.provenance)


def test_a_key_of_an_earlier_year_is_a_repeated_one(write_reports, tmp_path):
    write_reports(tmp_path, 2011)
    for kind in ("logvol.+12.txt", "logvol.-12.txt", "meta.txt"):
        (tmp_path / f"2012.{kind}").write_bytes((tmp_path / f"2011.{kind}").read_bytes())
    pack(tmp_path / "2012.tok.tgz", [(f"2012.tok/{key}.mda", b"again") for key in KEYS])
    corpus = load_10k_corpus(tmp_path)
    assert corpus.frame["year"].tolist() == [2011] * 3
    assert corpus.provenance.dropped["repeated keys"] == 3
    assert "again" not in list(corpus.texts())


def test_keys_and_documents_without_each_other_are_skipped_and_counted(reports_folder):
    append(reports_folder / "2011.logvol.+12.txt", "-3.0 ghost-10-K-20110101\n")
    texts = [(f"2011.tok/{key}.mda", b"text") for key in (*KEYS[:2], "stray-10-K-20110101")]
    pack(reports_folder / "2011.tok.tgz", [*texts, texts[0], ("2011.tok/README", b"hi")])
    lines = (reports_folder / "2011.logvol.-12.txt").read_text().splitlines(keepends=True)
    (reports_folder / "2011.logvol.-12.txt").write_text("".join(lines[1:]))
    corpus = load_10k_corpus(reports_folder)
    assert corpus.provenance.dropped == {
        "repeated keys": 0,
        "keys without document": 2,
        "keys without volatility before the filing": 1,
        "documents without key": 1,
        "documents packed more than once": 1,
        "other files in the archives": 1,
    }
    assert corpus.frame["key"].tolist()[0] == KEYS[1]
    assert len(list(corpus.texts())) == len(corpus) == corpus.provenance.rows == 4


def test_a_report_without_line_in_meta_has_the_date_of_its_key(reports_folder):
    lines = (reports_folder / "2011.meta.txt").read_text().splitlines(keepends=True)
    (reports_folder / "2011.meta.txt").write_text("".join(lines[1:]))
    corpus = load_10k_corpus(reports_folder)
    assert corpus.frame["date"].iloc[0] == pd.Timestamp(2011, 7, 14)
    assert corpus.frame["cik"].isna().tolist() == [True] + [False] * 5


def test_names_that_are_odd_do_no_harm(reports_folder):
    lines = (reports_folder / "2011.meta.txt").read_bytes().splitlines(keepends=True)
    lines[0] = f"{KEYS[0]}\t20110714\tu\tFIRM ".encode() + b"\xc9\tCO\tn/a\r\n"
    (reports_folder / "2011.meta.txt").write_bytes(b"\n".join(lines))
    frame = load_10k_corpus(reports_folder).frame
    assert frame["company"].iloc[0] == "FIRM \ufffd CO"
    assert frame["cik"].isna().iloc[0]


# ----------------------------------------------------------------------------- figures known of it


def test_another_number_of_rows_than_known_is_reported(write_reports, tmp_path):
    write_reports(tmp_path, 1996)
    with pytest.warns(DataWarning, match="rows of 1996: 3, expected 1408"):
        corpus = load_10k_corpus(tmp_path)
    assert not corpus.provenance.ok
    assert corpus.provenance.to_dict()["checks"][0] == {
        "what": "rows of 1996", "expected": 1408, "found": 3, "ok": False
    }  # fmt: skip
    with pytest.raises(DataError, match=r"rows of 1996: 3, expected 1408. Pass strict=False"):
        load_10k_corpus(tmp_path, strict=True)


def test_dates_that_disagree_are_reported(reports_folder):
    path = reports_folder / "2011.meta.txt"
    path.write_text(path.read_text().replace("\t20110714", "\t20120714"))
    with pytest.warns(DataWarning, match="other than in the key: 1, .* outside the year .*: 1"):
        load_10k_corpus(reports_folder)


# -------------------------------------------------------------------------------------- damage


def test_an_archive_cut_short_is_named(reports_folder):
    path = reports_folder / "2012.tok.tgz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"2012.tok.tgz: the archive is damaged or cut short"):
        load_10k_corpus(reports_folder)


def test_nothing_is_written_outside_by_a_hostile_archive(reports_folder):
    before = sorted(reports_folder.parent.rglob("*"))
    pack(reports_folder / "2011.tok.tgz", [("2011.tok/../../evil.mda", b"evil")])
    with pytest.raises(DataError, match=r"2011.tok.tgz: .* leads out of the folder"):
        load_10k_corpus(reports_folder)
    assert sorted(reports_folder.parent.rglob("*")) == before


def test_limits_can_be_set(reports_folder):
    with pytest.raises(DataError, match="claims 19 bytes; the limit is 10"):
        load_10k_corpus(reports_folder, max_document_bytes=10)
    with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
        load_10k_corpus(reports_folder, max_archive_bytes=1000)


def test_an_archive_that_changed_meanwhile_is_noticed(reports_folder):
    corpus = load_10k_corpus(reports_folder)
    pack(reports_folder / "2012.tok.tgz", [(f"2012.tok/{KEYS[0]}.mda", b"x")])
    with pytest.raises(DataError, match="changed since the corpus was loaded"):
        list(corpus.texts())


def test_an_archive_of_other_documents_gives_no_empty_corpus(write_reports, tmp_path):
    write_reports(tmp_path, 2011)
    pack(tmp_path / "2011.tok.tgz", [("2011.tok/other.mda", b"x")])
    with pytest.raises(DataError, match=r"no key of the years 2011-2011 .* has a document"):
        load_10k_corpus(tmp_path)
    pack(tmp_path / "2011.tok.tgz", [(f"2011.tok/{'k' * 9}.mda", b"x")])
    for kind in ("logvol.+12.txt", "logvol.-12.txt"):
        (tmp_path / f"2011.{kind}").write_text(f"-3.0 {'k' * 9}\n")
    with pytest.raises(DataError, match="no line for the key 'kkkkkkkkk', which ends in no date"):
        load_10k_corpus(tmp_path)


def test_folders_that_hold_no_corpus_are_refused(tmp_path):
    with pytest.raises(DataError, match="holds no year of the 10-K corpus"):
        load_10k_corpus(tmp_path)
    with pytest.raises(DataError, match="'nowhere' is no folder"):
        load_10k_corpus(tmp_path / "nowhere")


def test_progress_is_shown_when_asked_for_and_on_stderr(reports_folder, capsys):
    load_10k_corpus(reports_folder)
    assert capsys.readouterr() == ("", "")
    load_10k_corpus(reports_folder, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading the archives" in err


def test_texts_are_read_one_at_a_time(write_reports, tmp_path):
    """Reading stops when the reader does: damage further on does not matter."""
    keys = write_reports(tmp_path, 2011)
    pack(tmp_path / "2011.tok.tgz", [(f"2011.tok/{key}.mda", os.urandom(50_000)) for key in keys])
    corpus = load_10k_corpus(tmp_path)
    path = tmp_path / "2011.tok.tgz"
    path.write_bytes(path.read_bytes()[:80_000])
    assert next(corpus.texts())
    with pytest.raises(DataError, match="cut short"):
        list(corpus.texts())


def test_memory_does_not_grow_with_the_texts(write_reports, tmp_path):
    keys = [f"{i:09d}-10-K-20110301" for i in range(100)]
    write_reports(tmp_path, 2011, keys)
    text = b"risk " * 20_000
    pack(tmp_path / "2011.tok.tgz", [(f"2011.tok/{key}.mda", text) for key in keys])
    tracemalloc.start()
    try:
        corpus = load_10k_corpus(tmp_path)
        total = sum(map(len, corpus.texts()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total > 9_900_000
    assert peak < total / 5


def test_a_corpus_is_found_again_from_another_working_folder(reports_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = load_10k_corpus("corpus")
    monkeypatch.chdir(reports_folder)
    assert len(list(corpus.texts())) == 6


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the sample of real reports is not there")
def test_the_sample_of_real_reports_loads():
    corpus = load_10k_corpus(SAMPLE)
    assert corpus.frame.groupby("year").size().tolist() == [40] * 6
    assert corpus.provenance.ok
    with gzip.open(SAMPLE / "2018.tok.tgz") as stream:
        assert b"item # management" in stream.read(2000)
    assert next(corpus.texts()).startswith("item # management's discussion")
    first = corpus.select(corpus.frame["year"] == 2018)
    with pytest.warns(DataWarning, match="are used, not to last=10101"):
        words = RankedVocabulary().fit(first.texts())
    X = words.transform(first.texts())
    assert X.shape == (40, len(words.word_counts_) - 100)
    assert set(X.data) == {1.0}
