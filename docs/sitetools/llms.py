"""llms.txt: the site's pages in one plain list, and all guides in one plain text."""

from __future__ import annotations

from importlib.metadata import metadata
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
#: Guides in the order in which a reader who is to answer questions needs them.
FIRST = ("start", "which-estimator", "when-to-use", "reading-a-result", "faq", "glossary")


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").strip()


def guides() -> list[Path]:
    """The Markdown pages of docs/, those to read first at the front."""
    pages = {path.stem: path for path in sorted(DOCS.glob("*.md")) if path.stem != "index"}
    first = [pages.pop(name) for name in FIRST if name in pages]
    return [*first, *pages.values()]


def short() -> str:
    """The list of pages."""
    lines = ["# driftglm", "", f"> {metadata('driftglm')['Summary']}", "", "## Guides", ""]
    lines += [f"- [{_title(page)}]({page.stem}.html)" for page in guides()]
    lines += [
        "",
        "## Reference",
        "",
        "- [Python](reference.html)",
        "- [Commands](commands/index.html)",
    ]
    lines += ["", "## Everything in one file", "", "- [All guides](llms-full.txt)", ""]
    return "\n".join(lines)


def full() -> str:
    """All guides one after the other."""
    return "\n\n".join(page.read_text(encoding="utf-8").strip() for page in guides()) + "\n"


def _on_finish(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(short(), encoding="utf-8")
        (Path(app.outdir) / "llms-full.txt").write_text(full(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write both files beside the pages."""
    app.connect("build-finished", _on_finish)
    return {"parallel_read_safe": True}
