"""Every Python example of the guide runs."""

import re
import warnings
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"


def test_python_blocks_of_the_guide_run_one_after_the_other(capsys):
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) >= 6
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(block, names)  # noqa: S102
    printed = capsys.readouterr().out
    assert "mean squared error (* best)" in printed
    assert set(names["errors"].columns) >= {"learned", "lasso-all"}
