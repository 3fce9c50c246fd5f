"""Files become tables, and rows keep their lines."""

import gzip

import pandas as pd

from driftglm.tables import Table, read_data
from driftglm.tables.reading import as_strings, lines_of


def test_whole_numbers_are_one_level_however_they_are_stored():
    values = pd.Series([1, 1.0, "1", True, None], dtype=object)
    assert as_strings(values).tolist() == ["1", "1", "1", "True", None]


def test_lines_are_those_of_the_file_whatever_stands_between(tmp_path):
    text = 'x,note\n1,a\n\n2,"two\nlines"\n"#REF!",b\n3,c\n'
    (tmp_path / "a.csv").write_text(text)
    with gzip.open(tmp_path / "b.csv.gz", "wt") as stream:
        stream.write(text)
    for name in ("a.csv", "b.csv.gz"):
        table = read_data(tmp_path / name)
        assert table.frame["x"].tolist()[2] == "#REF!"
        assert lines_of(table, [0, 1, 2, 3]) == [2, 4, 6, 7]
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n\n{"x": "a"}\n')
    assert lines_of(read_data(tmp_path / "a.jsonl"), [1]) == [3]
    assert lines_of(Table(pd.DataFrame({"x": [1]})), [0]) == [None]
