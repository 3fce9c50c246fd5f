"""Names as labels, and lines that can be told apart."""

import sys

import pytest

from driftglm.exceptions import DriftError
from driftglm.plots.style import COLOURS, FAINT, line_style, new_figure, shortened, shown


def test_names_are_one_line_of_limited_length_with_both_ends():
    assert shortened("a\nb\tc", 10) == "a b c"
    assert shortened("  ", 10) == "(no name)"
    assert shortened("abcdefghij", 10) == "abcdefghij"
    cut = shortened("abcdefghijk", 10)
    assert len(cut) == 10
    assert cut == "abcdef…ijk"
    assert shown("$x$") == r"\$x\$"


def test_no_two_of_many_lines_look_alike():
    styles = [line_style(n) for n in range(30)]
    looks = {(s["color"], str(s["linestyle"]), s["marker"]) for s in styles}
    assert len(looks) == 30
    assert styles[8]["color"] == COLOURS[0]
    assert line_style(0, faint=True)["color"] == FAINT


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DriftError, match=r"driftglm\[plot\]"):
        new_figure(1.0, 1.0)
