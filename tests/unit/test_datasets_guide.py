"""Every Python example of the guide to corpora runs."""

import re
import tempfile
from pathlib import Path

from driftglm import datasets

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"


def test_python_blocks_of_the_guide_run_one_after_the_other(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) >= 9
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102
    printed = capsys.readouterr().out
    assert "10-K corpus 2011-2012: 6 rows read, 6 kept" in printed
    assert "['Activity expanded.', 'Prices rose.']" in printed
    assert names["X"].shape == (6, 5)
    assert names["places"].to_numpy().sum() == 65


def test_every_public_function_is_in_the_guide():
    text = GUIDE.read_text()
    functions = [name for name in datasets.__all__ if name.islower()]
    assert [name for name in functions if f"{name}(" not in text] == []
    assert all((getattr(datasets, name).__doc__ or "").strip() for name in datasets.__all__)
