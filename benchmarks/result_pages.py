"""How a page of results is written: what was measured, and on which commit.

`write_page` puts the commit under a page, `stamp` is that line alone, for pages put together of
parts or of what a script prints.
"""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("numpy", "scikit-learn", "numba")


def asked_of_git(*words):
    """What git prints, stripped; nothing where there is no repository."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""


def stamp():
    """The commit whose code is run, its day, and the versions beside it."""
    commit = asked_of_git("log", "-1", "--format=`%h` of %cs") or "unknown"
    if asked_of_git("status", "--porcelain", "--", "src", "benchmarks"):
        commit += ", with changes that are not in it"
    beside = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"Measured on commit {commit} (Python {platform.python_version()}, {beside})."


def write_page(path, text):
    """The page, and under it the commit."""
    Path(path).write_text(f"{text.rstrip()}\n\n{stamp()}\n")
