# ruff: noqa: INP001 (a script, not a package)
"""Put figures of docs/results into README.md and docs/when-to-use.md, between markers there.

    python docs/tools/results_tables.py    # after a benchmark has written its page

A test compares, so that no page says what the page of its results does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
#: Sets of results/history.md: what they are called elsewhere, and their loss.
SETS = {
    "beijing_pm25": "Fine dust in Beijing, squared error of its logarithm",
    "elec2": "Electricity prices, up or down, log loss",
    "tenk_1996_2005": "Volatility after annual reports, 1996-2005, squared error",
    "bike_hour": "Bikes rented in an hour, Poisson deviance",
    "un_votes": "Votes in the United Nations, log loss",
    "county murders": "Murders by county, Poisson deviance",
    "mda10k_vol": "Volatility after annual reports, 2001-2023, squared error",
    "weekly volatility": "Weekly volatility, squared error",
}
#: Rows of results/simulated-worlds.md in the order of the README, and what they are called there.
WORLDS = {
    "lasso-all": "lasso, all steps pooled",
    "lasso-one": "lasso, newest step",
    "ridge-all": "ridge, all steps pooled",
    "ridge-one": "ridge, newest step",
    "group lasso (adelie)": "group lasso, time-expanded (adelie)",
    "exact": "driftglm, exact prior",
    "learned (default)": "**driftglm, default**",
    "truth at T": "the truth of the last step",
}


def table(page: str, corner: str) -> dict[str, dict[str, str]]:
    """A table of a page by the first cell of its head: rows by name, cells by column."""
    lines = (RESULTS / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {corner} |"))
    rows: list[list[str]] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*") for cell in line.strip("| ").split("|")])
    head = rows[0]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows[2:]}


def worlds() -> str:
    """The simulated worlds, three digits."""
    found = table("simulated-worlds.md", "test MSE at T+1")
    lines = ["| | constant | random walk | mixed | switching |", "|---|---|---|---|---|"]
    for name, called in WORLDS.items():
        cells = [f"{float(found[name][kind]):.3f}" for kind in ("const", "rw", "mixed", "switch")]
        strong = "**" if called.startswith("**") else ""
        lines.append(f"| {called} | " + " | ".join(f"{strong}{c}{strong}" for c in cells) + " |")
    return "\n".join(lines)


def open_sets() -> str:
    """The default against the best of the tuned lassos and ridges, from won to lost."""
    found = table("history.md", "mean loss over test steps")
    lines = ["| | default | best of eight | | |", "|---|---:|---:|---|---:|"]
    compared = []
    for name, called in SETS.items():
        row = found[name]
        tuned = {key: float(row[key]) for key in row if key.startswith(("ridge-", "lasso-"))}
        best = min(tuned, key=lambda key: tuned[key])
        ratio = float(row["default"]) / tuned[best] - 1
        compared.append(
            (ratio, f"| {called} | {row['default']} | {row[best]} | {best} | {ratio:+.1%} |")
        )
    return "\n".join([*lines, *(line for _, line in sorted(compared))])


#: Where each table stands: the file, the name in its markers, what makes it.
PLACES: list[tuple[Path, str, Callable[[], str]]] = [
    (ROOT / "README.md", "worlds", worlds),
    (ROOT / "docs" / "when-to-use.md", "open sets", open_sets),
]


def replaced(text: str, name: str, new: str) -> str:
    """A page with a new table between its markers."""
    begin = f"<!-- {name}: begin, written by `python docs/tools/results_tables.py` -->"
    end = f"<!-- {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{begin!r} and {end!r} must be there once each")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{new}\n\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Write all tables."""
    for page, name, make in PLACES:
        text = page.read_text(encoding="utf-8")
        page.write_text(replaced(text, name, make()), encoding="utf-8")


if __name__ == "__main__":
    main()
