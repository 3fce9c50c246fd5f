# ruff: noqa: INP001 (a script, not a package)
"""Run the demo and put its table into the README, and its report's picture beside it.

    make readme

The table stands between two markers in README.md and is replaced as a whole. The picture,
docs/images/report.png, needs chromium and is left as it is where there is none.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from driftglm.demo import DemoResult, run_demo
from driftglm.demo.run import write_demo_report
from driftglm.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- demo: begin, written by `make readme` -->", "<!-- demo: end -->"


def section(result: DemoResult) -> str:
    """What stands between the markers."""
    table = result.comparison.table("markdown")
    learned = f"The learned model of all years: {result.sentence()}"
    return f"{BEGIN}\n\n{table}\n\n{result.rank()}\n{learned}\n\n{END}"


def replaced(text: str, new: str) -> str:
    """The README with a new section; ValueError if the markers are not there once each."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"README.md must hold {BEGIN!r} and {END!r} once each")
    before, _, rest = text.partition(BEGIN)
    return before + new + rest.partition(END)[2]


def main() -> int:
    """Write table and picture."""
    result = run_demo(n_jobs=2)
    new = replaced(README.read_text(encoding="utf-8"), section(result))
    write_atomically(README, new.encode())
    picture = ROOT / "docs" / "images" / "report.png"
    picture.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = write_demo_report(result, Path(folder) / "report.html")
        script = Path(__file__).with_name("report_picture.py")
        made = subprocess.run(  # noqa: S603
            [sys.executable, str(script), str(page), str(picture), "--height", "1245"], check=False
        )
    if made.returncode:
        sys.stderr.write("README.md is up to date; the picture could not be taken.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
