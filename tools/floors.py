"""The oldest versions that pyproject.toml allows, as constraints for pip.

Usage: `python tools/floors.py > oldest.txt`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def floors(project: dict[str, object]) -> list[str]:
    """`name==floor` for every dependency and extra that has a floor."""
    extras = project["optional-dependencies"]
    if not isinstance(extras, dict) or not isinstance(project["dependencies"], list):
        raise TypeError("dependencies are a list, extras a table")
    every = [*project["dependencies"], *(each for part in extras.values() for each in part)]
    parts = [re.fullmatch(r"([\w.-]+)(?:\[[^\]]*\])?>=([\d.]+)", each) for each in every]
    return sorted({f"{part[1]}=={part[2]}" for part in parts if part})


if __name__ == "__main__":
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    print("\n".join(floors(facts["project"])))
