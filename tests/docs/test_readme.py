"""Every Python example of the README runs, and every file it points to exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_python_blocks_of_the_readme_run_one_after_the_other():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2
    import sklearn

    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert not sklearn.get_config()["enable_metadata_routing"]
    assert names["model"].get_metadata_routing() is not None
    assert names["pipe"].predict(names["frame"]).shape == names["panel"].y.shape


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([\w./:-]+)\)", page.read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_make_target_of_the_documents_exists():
    makefile = (ROOT / "Makefile").read_text()
    pattern = re.compile(r"`make ([a-z-]+)`|^    make ([a-z-]+)", re.MULTILINE)
    for page in PAGES:
        for quoted, indented in pattern.findall(page.read_text()):
            name = quoted or indented
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"{page.name}: make {name}"
