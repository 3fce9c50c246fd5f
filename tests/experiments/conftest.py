"""Small corpora for the experiments, simulated in the layouts of the real ones."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

WORDS = np.array([f"w{k:03d}" for k in range(60)])
SHARES = 1.0 / (np.arange(60) + 3.0)
SHARES /= SHARES.sum()


def write_report_year(folder, year, rng, n_reports=25):
    """A year of the 10-K layout, whose volatility depends on past volatility and on one word."""
    before = rng.normal(-3.6, 0.5, n_reports)
    texts = [rng.choice(WORDS, size=50, p=SHARES) for _ in range(n_reports)]
    uses = np.array(["w020" in set(text) for text in texts])
    after = 0.6 * before - 1.4 + 0.5 * uses + rng.normal(0, 0.2, n_reports)
    keys = [f"{k:09d}-10-K-{year}0315" for k in range(n_reports)]
    for name, values in (("+12", after), ("-12", before)):
        lines = [f"{value:.10f} {key}\n" for value, key in zip(values, keys, strict=True)]
        (folder / f"{year}.logvol.{name}.txt").write_text("".join(lines))
    meta = [f"{key}\t{year}0315\turl\tFIRM {k}\t{k}\n" for k, key in enumerate(keys)]
    (folder / f"{year}.meta.txt").write_text("".join(meta))
    write_texts(folder, year, keys, [" ".join(text) for text in texts])


def write_texts(folder, year, keys, texts):
    with tarfile.open(folder / f"{year}.tok.tgz", "w:gz") as archive:
        for key, text in zip(keys, texts, strict=True):
            info = tarfile.TarInfo(f"{year}.tok/{key}.mda")
            content = text.encode()
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_panel(folder, years=range(2001, 2007), n_documents=6):
    """Documents of two sources; the word w025 is frequent in texts of the Dallas district."""
    rng = np.random.default_rng(7)
    rows = []
    for year in years:
        for k in range(n_documents):
            source, district = ("fomc", None) if k == 0 else ("beige", ["da", "bo", "su"][k % 3])
            shares = SHARES * np.where(WORDS == "w025", 8.0 if district == "da" else 1.0, 1.0)
            words = rng.choice(WORDS, size=120, p=shares / shares.sum())
            date = f"{year}-{2 * k + 1:02d}-10"
            text = " ".join(words)
            rows.append((f"{year}-{k}", date, source, None, district, text))
    columns = ["id", "date", "source", "states", "district", "text"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "documents.parquet")
    months = pd.period_range(f"{min(years)}-01", f"{max(years)}-12", freq="M")
    macro = pd.DataFrame({"date": months.astype(str) + "-01"})
    macro["UNRATE"] = 5.0 + rng.normal(size=len(macro)).round(3)
    macro["growth"] = rng.normal(size=len(macro)).round(4)
    macro.to_csv(folder / "macro.csv", index=False)


def write_reports(folder, years, seed):
    """25 reports a year in the 10-K layout."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    for year in years:
        write_report_year(folder, year, rng)
    return folder


@pytest.fixture
def reports(tmp_path):
    """Six years of 25 reports each in the 10-K layout."""
    return write_reports(tmp_path / "corpus", range(2011, 2017), seed=3)


@pytest.fixture
def paper_reports(tmp_path):
    """The paper's years, a few reports each; the counts of the real corpus are not met."""
    return write_reports(tmp_path / "corpus", range(2000, 2006), seed=5)


@pytest.fixture
def rewrite_texts():
    """A function that gives all reports of a year another text."""

    def rewrite(folder, year, text):
        lines = (folder / f"{year}.logvol.+12.txt").read_text().splitlines()
        keys = [line.split()[1] for line in lines]
        write_texts(folder, year, keys, [text] * len(keys))

    return rewrite


@pytest.fixture
def panel(tmp_path):
    """Six years of documents with macro variables by month."""
    folder = tmp_path / "panel"
    folder.mkdir()
    write_panel(folder)
    return folder


@pytest.fixture
def kill_midway():
    """A function that runs code in a process and kills it once some fits are finished.

    It returns the files kept, with the time at which each was written.
    """

    def run(code, corpus, out, n_fits):
        arguments = [sys.executable, "-c", code, str(corpus), str(out)]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)  # noqa: S603
        deadline = time.monotonic() + 120
        while len(list(out.glob("cache/*.zip"))) < n_fits and time.monotonic() < deadline:
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not list(out.glob("*.json")), "the run was finished"
        return {path: path.stat().st_mtime_ns for path in out.glob("cache/*.*z*")}

    return run


@pytest.fixture
def short_report(monkeypatch):
    """Reports of a few bytes, for tests about something else: the real ones take seconds."""

    def write(path, **parts):
        assert parts["comparison"] is not None
        Path(path).write_text("report")

    monkeypatch.setattr("driftglm.report.write_report", write)


@pytest.fixture
def real_data():
    """The folder of real data; the test is skipped where there is none."""
    given = os.environ.get("DRIFTGLM_DATA", Path(__file__).parents[3] / "shared" / "data")
    folder = Path(given)
    if not folder.is_dir():
        pytest.skip("real data are not here; set DRIFTGLM_DATA to their folder")
    return folder
