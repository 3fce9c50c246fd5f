"""What is printed: one line a message, nothing a terminal takes for a command, JSON without NaN."""

import json

import numpy as np
import pytest
import typer

from driftglm.cli import console


def test_a_message_is_one_printable_line():
    assert console.one_line("two\n  lines\x1b[2J") == "two lines?[2J"
    assert console.printable("a  b\x07") == "a  b?"


def test_a_failure_is_one_line_on_stderr_and_an_exit_code(capsys):
    with pytest.raises(typer.Exit) as ended:
        console.fail("no\nway", code=1)
    assert ended.value.exit_code == 1
    assert capsys.readouterr() == ("", "error: no way\n")


def test_json_holds_numbers_of_numpy_and_null_for_what_is_none(capsys):
    console.print_json({"a": np.arange(2), 3: np.float64("nan"), "b": [np.bool_(True), {1}]})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"a": [0, 1], "3": None, "b": [True, "{1}"]}


def test_a_table_is_aligned_text_where_there_is_no_terminal(capsys):
    console.say_table(["name", "loss"], [["a", "1.5*"], ["longer", "10.0"]], "title")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "title"
    assert [line.split()[1] for line in lines[1:]] == ["loss", "1.5*", "10.0"]
    assert lines[2].startswith("a ")
    assert lines[3].startswith("longer ")


def test_only_advice_to_install_an_extra_is_told_instead_of_raised():
    told = []
    with console.report_optional(told.append):
        raise ImportError("pip install it")
    assert [str(each) for each in told] == ["pip install it"]
    with pytest.raises(ImportError), console.report_optional(told.append):
        raise ImportError("gone", name="gone")


def test_quiet_prints_neither_results_nor_notes(capsys, monkeypatch):
    monkeypatch.setattr(console.SETTINGS, "quiet", True)
    console.say("result")
    console.note("note")
    console.warn("odd")
    assert capsys.readouterr() == ("", "warning: odd\n")
    assert not console.shows_progress()
