"""Panels of documents: four kinds of table, folders of text files, joined covariates."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets import load_text_panel
from driftglm.exceptions import DataError

ROWS = [
    {"id": "007", "date": "2003-05-01", "source": "beige", "text": "null"},
    {"id": "008", "date": "2004-06-30", "source": "fomc", "text": 'rates rose, "fast"\nagain'},
    {"id": "009", "date": "2004-07-01", "source": "beige", "text": "Zürich"},
]
TEXTS = [row["text"] for row in ROWS]


def write(folder, kind, rows=None, name="documents"):
    """The rows as a table of some kind."""
    rows = ROWS if rows is None else rows
    path = folder / f"{name}{kind}"
    if kind.startswith(".csv"):
        pd.DataFrame(rows).to_csv(path, index=False)
    elif kind == ".parquet":
        pytest.importorskip("polars").DataFrame(rows).write_parquet(path)
    else:
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    return path


KINDS = [".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".parquet"]


@pytest.mark.parametrize("as_folder", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_panel(kind, as_folder, tmp_path):
    path = write(tmp_path, kind)
    panel = load_text_panel(tmp_path if as_folder else path)
    assert list(panel.texts()) == list(panel.documents) == TEXTS
    assert panel.frame.columns.tolist() == ["id", "date", "source"]
    assert panel.frame["id"].tolist() == ["007", "008", "009"]
    assert panel.frame["date"].iloc[1] == pd.Timestamp(2004, 6, 30)
    assert panel.provenance.to_dict()["dropped"] == {
        "repeated documents": 0,
        "rows without text": 0,
    }
    assert [str(step) for step in panel.timesteps("Y")] == ["2003", "2004", "2004"]
    assert list(panel.select(panel.frame["source"] == "fomc").texts()) == [TEXTS[1]]


def test_columns_can_be_named(tmp_path):
    rows = [{"nr": 5, "release": "2003-05-01", "body": "x"}]
    panel = load_text_panel(write(tmp_path, ".csv", rows), key="nr", date="release", text="body")
    assert panel.frame.columns.tolist() == ["id", "date"]
    assert list(panel.texts()) == ["x"]


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (20040315, "2004-03-15"),
        (2004, "2004-01-01"),
        (200403, "2004-03-01"),
        ("2004-03-15T08:30:00", "2004-03-15 08:30"),
        ("2004-03-15T08:30:00+02:00", "2004-03-15 08:30"),
        ("15 Mar 2004", "2004-03-15"),
    ],
)
def test_dates_are_read_as_they_are_written(day, expected, tmp_path):
    panel = load_text_panel(write(tmp_path, ".jsonl", [{"id": 1, "date": day, "text": "x"}]))
    assert panel.frame["date"].iloc[0] == pd.Timestamp(expected)


def test_repeated_keys_and_rows_without_text_are_dropped_and_counted(tmp_path):
    extra = [
        {"id": "008", "date": "2004-06-30", "source": "fomc", "text": "again"},
        {"id": "010", "date": "2004-06-30", "source": "fomc", "text": None},
        {"id": "011", "date": "2004-06-30", "source": "fomc", "text": " "},
        {"id": "010", "date": "2004-06-30", "source": "fomc", "text": "late"},
    ]
    panel = load_text_panel(write(tmp_path, ".jsonl", ROWS + extra))
    assert list(panel.texts()) == [*TEXTS, "late"]
    assert panel.provenance.dropped == {"repeated documents": 1, "rows without text": 2}
    assert (panel.provenance.rows_read, panel.provenance.rows) == (7, 4)


def test_cells_of_a_csv_file_are_numbers_only_if_all_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,date,n,state,text\n01,2003-01-01,NA,NA,x\n02,2003-01-02,2.5,,y\n")
    frame = load_text_panel(path).frame
    np.testing.assert_array_equal(frame["n"], [np.nan, 2.5])
    assert frame["state"].iloc[0] == "NA"
    assert frame["state"].isna().tolist() == [False, True]


def test_without_keys_rows_are_numbered(tmp_path):
    rows = [{"date": "2003-01-01", "text": "same"}] * 2
    panel = load_text_panel(write(tmp_path, ".jsonl", rows))
    assert panel.frame["id"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "text": "x"}], "documents.jsonl has no column 'date'; it has: id, text"),
        ([{"id": 1, "date": "2003-01-01"}], "has no column 'text'"),
        ([{"id": 1, "date": "soon", "text": "x"}], "row 0 has the date 'soon'"),
        ([{"id": 1, "date": None, "text": "x"}], "row 0 has the date None"),
        ([{"id": 1, "date": "2003-01-01", "text": 5}], "row 0 has the text 5, of type int"),
        ([{"id": None, "date": "2003-01-01", "text": "x"}], "row 0 has nothing in the column 'id'"),
        ([{"id": 1, "date": "2003-01-01", "text": None}], "none of 1 rows has a text"),
        (
            [
                {"id": 1, "date": "2003-01-01T00:00:00+01:00", "text": "x"},
                {"id": 2, "date": "2003-01-01T00:00:00+02:00", "text": "x"},
            ],
            "documents.jsonl: the dates cannot be read",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_named(rows, message, tmp_path):
    with pytest.raises(DataError, match=message):
        load_text_panel(write(tmp_path, ".jsonl", rows))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"id": 1}\n{"id": \n', "a.jsonl, line 2: this is no JSON"),
        ("a.jsonl", b"[1]\n", "a.jsonl, line 1: a list; one object"),
        ("a.jsonl", b"\xff\xfe\n", "a.jsonl cannot be read as JSON lines"),
        ("a.jsonl.gz", b"plain", "a.jsonl.gz cannot be read as JSON lines"),
        ("a.csv", b"id,date\n1,2,3,4\n1,2\n1,2,3,4,5\n", "a.csv cannot be read as CSV"),
        ("a.csv", b"", "a.csv cannot be read as CSV"),
        ("a.parquet", b"PAR?", "a.parquet cannot be read as Parquet"),
        ("a.xlsx", b"PK", "a.xlsx is no table that can be read"),
    ],
)
def test_damaged_tables_are_named(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_text_panel(path)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone.csv does not exist in the folder"):
        load_text_panel(tmp_path / "gone.csv")
    with pytest.raises(DataError, match="holds neither a table 'documents' nor a table 'metadata'"):
        load_text_panel(tmp_path)
    write(tmp_path, ".csv")
    write(tmp_path, ".jsonl")
    with pytest.raises(DataError, match=r"holds documents.jsonl and documents.csv; keep one"):
        load_text_panel(tmp_path)


# ------------------------------------------------------------------------- folders of text files


@pytest.fixture
def folder(tmp_path):
    """Metadata of three documents, whose texts are in files named by their id."""
    rows = [{name: row[name] for name in ("id", "date", "source")} for row in ROWS]
    write(tmp_path, ".csv", rows, name="metadata")
    for row in ROWS:
        (tmp_path / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    return tmp_path


def test_texts_come_from_files_named_by_their_id(folder):
    panel = load_text_panel(folder)
    assert list(panel.texts()) == TEXTS
    assert panel.frame.columns.tolist() == ["id", "date", "source"]


def test_texts_come_from_the_files_of_a_column(folder):
    (folder / "texts").mkdir()
    (folder / "texts" / "a.md").write_text("hello")
    (folder / "metadata.csv").write_text("id,date,file\n1,2003-01-01,texts/a.md\n")
    panel = load_text_panel(folder)
    assert list(panel.texts()) == ["hello"]
    assert panel.frame.columns.tolist() == ["id", "date"]
    assert panel.provenance.dropped["text files without row"] == 3


def test_files_and_rows_without_each_other_are_counted(folder):
    (folder / "008.txt").unlink()
    (folder / "stray.txt").write_text("?")
    panel = load_text_panel(folder)
    assert list(panel.texts()) == [TEXTS[0], TEXTS[2]]
    assert panel.provenance.dropped == {
        "repeated documents": 0, "rows without text": 1, "text files without row": 1
    }  # fmt: skip


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "link.txt"])
def test_files_outside_the_folder_are_refused(name, tmp_path):
    folder = tmp_path / "panel"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "metadata.csv").write_text(f"id,date,file\n1,2003-01-01,{name}\n")
    with pytest.raises(DataError, match="lies outside the folder"):
        load_text_panel(folder)


def test_a_file_that_vanished_is_named(folder):
    panel = load_text_panel(folder)
    (folder / "008.txt").unlink()
    with pytest.raises(DataError, match=r"008.txt cannot be read"):
        list(panel.texts())


def test_states_may_be_lists(tmp_path):
    rows = [row | {"states": ["NY", "NJ"]} for row in ROWS]
    for kind in (".jsonl", ".parquet"):
        panel = load_text_panel(write(tmp_path, kind, rows))
        assert [list(states) for states in panel.frame["states"]] == [["NY", "NJ"]] * 3
