"""docs/architecture.md says what pyproject.toml enforces and what is on the disk."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "driftglm"


def test_the_layers_are_those_that_are_enforced():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    )
    enforced = [re.findall(r"driftglm\.(\w+)", layer) for layer in contract["layers"]]
    table = PAGE.partition("## Layers")[2].partition("## Sources")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [re.findall(r"`(\w+)`", row) for row in rows] == enforced
    listed = {name for layer in enforced for name in layer}
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix in {"", ".py"}}
    assert listed == there - {"__init__", "__main__", "__pycache__", "py"}


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md"])
def test_every_file_named_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+/\w+\.(?:py|md|toml)", text))
    assert len(named) > 10
    for name in named:
        places = [ROOT / name, PACKAGE / name, ROOT / "docs" / name]
        assert any(place.exists() for place in places), name


@pytest.mark.parametrize("page", ["architecture.md", "glossary.md"])
def test_every_name_in_code_font_is_defined(page):
    """Classes and functions that the page names exist under that name."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for dotted in re.findall(r"`([A-Za-z_]+(?:\.(?!toml)[a-zA-Z_]+)?)`", text):
        for name in dotted.split("."):
            assert re.search(rf"\b{name}\b", code), dotted


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_every_dotted_name_of_a_guide_leads_somewhere(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for dotted in sorted(set(re.findall(r"`(driftglm(?:\.\w+)+)`", text))):
        assert _found(dotted.split(".")), dotted


def _found(names):
    """Whether a dotted name is a module, or an attribute of one."""
    for cut in range(len(names), 0, -1):
        try:
            place = importlib.import_module(".".join(names[:cut]))
        except ModuleNotFoundError:
            continue
        for name in names[cut:]:
            # Fields of a dataclass are annotations of its class.
            if name in getattr(place, "__annotations__", {}):
                return True
            if not hasattr(place, name):
                return False
            place = getattr(place, name)
        return True
    return False
