"""Pages that the build writes; unchanged ones are left alone, so that none is read twice."""

from __future__ import annotations

from pathlib import Path


def write_pages(folder: Path, pages: dict[str, str]) -> None:
    """Write pages by name into a folder of their own, and remove what is there besides."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def heading(text: str, mark: str = "=") -> str:
    """A title in reStructuredText."""
    return f"{text}\n{mark * len(text)}\n"
