"""How values of options are read, and how shared options reach Typer."""

import inspect
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from driftglm.cli import options as opt
from driftglm.exceptions import DriftError
from driftglm.tables.columns import parse_freq


class Size(NamedTuple):
    """Two shared options."""

    width: Annotated[int, typer.Option(help="Across.")]
    height: Annotated[int, typer.Option("--height", "-y", help="Up.")] = 2


def test_fields_of_a_record_become_options_and_come_back_as_the_record():
    app, seen = typer.Typer(), []

    @app.command()
    @opt.flattened
    def command(name: str, *, size: Size, last: bool = False) -> None:
        seen.append((name, size, last))

    assert CliRunner().invoke(app, ["a", "--width", "3", "--last"]).exit_code == 0
    assert CliRunner().invoke(app, ["b", "-y", "5", "--width", "4"]).exit_code == 0
    assert seen == [("a", Size(3, 2), True), ("b", Size(4, 5), False)]
    assert "Missing option '--width'" in CliRunner().invoke(app, ["a"]).stderr


def test_options_keep_their_place_in_the_signature():
    @opt.flattened
    def command(name: str, *, size: Size, last: bool = False) -> None:
        del name, size, last

    assert list(inspect.signature(command).parameters) == ["name", "width", "height", "last"]


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        (None, [], ()),
        (["a,b", "c"], [], ("a", "b", "c")),
        (["a, b ,a"], [], ("a", "b")),
        (["a,b"], ["a,b"], ("a,b",)),
        (['"a,b",c'], [], ("a,b", "c")),
        ([""], [], ()),
    ],
)
def test_names_are_separated_by_commas_unless_quoted_or_known(values, known, expected):
    assert opt.names(values, known) == expected


def test_ranks_have_a_first_and_perhaps_a_last():
    assert opt.ranks(None) is None
    assert opt.ranks("101:10101") == (101, 10101)
    assert opt.ranks(" 1: ") == (1, None)
    for wrong in ("101", "a:b", "-1:5", ":5"):
        with pytest.raises(typer.Exit):
            opt.ranks(wrong)


def test_a_table_is_read_with_the_parts_of_its_columns(table):
    chosen = opt.TableOptions(target="price", time="year", drop=["noise"], vocabulary="1:")
    found, spec = chosen.read(table)
    assert found.n_rows == 160
    assert (spec.target, spec.time, spec.drop, spec.vocabulary) == (
        "price",
        "year",
        ("noise",),
        (1, None),
    )


def test_a_query_that_is_not_the_time_is_no_feature(tmp_path):
    path = Path(tmp_path / "a.svm")
    path.write_text("1.5 qid:3 1:1\n2.5 qid:4 1:2\n", encoding="utf-8")
    _, spec = opt.TableOptions().read(path)
    assert (spec.target, spec.time, spec.drop) == ("label", "qid", ())
    (tmp_path / "times").write_text("2001\n2002\n", encoding="utf-8")
    _, spec = opt.TableOptions(time_file=tmp_path / "times").read(path)
    assert (spec.time, spec.drop) == ("time", ("qid",))


LONG = "9" * 5000
"""More digits than Python reads."""


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (opt.cycle, LONG, "write the steps of a cycle"),
        (opt.ranks, f"1:{LONG}", "write FIRST:LAST"),
        (opt.ranks, f"{LONG}:", "write FIRST:LAST"),
        (parse_freq, LONG, "a step is 1 or more"),
    ],
)
def test_numbers_of_more_digits_than_can_be_read_are_refused(read, text, said, capsys):
    with pytest.raises((typer.Exit, DriftError)) as refused:
        read(text)
    assert said in capsys.readouterr().err + str(refused.value)
