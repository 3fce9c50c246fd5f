"""Fragments of changelog.d, gathered under a version of CHANGELOG.md.

    python tools/changelog.py check    # are the fragments named as they must be?
    python tools/changelog.py cut      # gather them under the version of pyproject.toml

A section of the version that is there already, or one called Unreleased, takes the fragments in.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("Added", "Changed", "Fixed", "Removed")


def fragments(folder: Path) -> dict[str, list[str]]:
    """Entries by kind, in the order of the files' names; a file named otherwise is an error."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.name.split(".")[-2].capitalize()
        if kind not in KINDS or path.name.count(".") != 2:  # noqa: PLR2004
            kinds = "|".join(each.lower() for each in KINDS)
            raise SystemExit(f"{path.name}: fragments are called <slug>.<{kinds}>.md")
        text = path.read_text(encoding="utf-8").strip()
        if not text:
            raise SystemExit(f"{path.name} is empty")
        found.setdefault(kind, []).append(text)
    return found


def _entry(text: str) -> str:
    """One item of a list; a fragment that is a list already stays one."""
    lines = text.splitlines()
    if lines[0].startswith("- "):
        return text
    return "\n".join([f"- {lines[0]}", *(f"  {line}".rstrip() for line in lines[1:])])


def merged(section: str, found: dict[str, list[str]]) -> str:
    """A section's text with the entries at the end of their headings."""
    for kind in (each for each in KINDS if each in found):
        entries = "\n".join(map(_entry, found[kind]))
        head = re.search(rf"^### {kind}\n.*?(?=^### |\Z)", section, re.DOTALL | re.MULTILINE)
        if head is None:
            section = f"{section.rstrip()}\n\n### {kind}\n\n{entries}\n"
        else:
            part = f"{head[0].rstrip()}\n{entries}\n\n"
            section = section[: head.start()] + part + section[head.end() :]
    return section.strip()


def cut(text: str, found: dict[str, list[str]], version: str, date: str) -> str:
    """The changelog with a section of the version that holds the fragments too."""
    head = re.search(rf"^## (?:Unreleased|{re.escape(version)}\b.*)\n", text, re.MULTILINE)
    if head is None:
        first = re.search(r"^## ", text, re.MULTILINE)
        at = first.start() if first else len(text)
        before, section, after = text[:at], "", text[at:]
    else:
        following = re.search(r"^## ", text[head.end() :], re.MULTILINE)
        end = head.end() + following.start() if following else len(text)
        before, section, after = text[: head.start()], text[head.end() : end], text[end:]
    made = f"## {version} - {date}\n\n{merged(section, found)}\n"
    return f"{before}{made}" + (f"\n{after}" if after else "")


def main(arguments: list[str]) -> None:
    """Check the fragments, or cut a version."""
    folder, log = ROOT / "changelog.d", ROOT / "CHANGELOG.md"
    found = fragments(folder)
    if arguments == ["check"]:
        print(f"{sum(map(len, found.values()))} fragments")
        return
    if arguments != ["cut"]:
        raise SystemExit("say check or cut")
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version = facts["project"]["version"]
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    log.write_text(cut(log.read_text(encoding="utf-8"), found, version, today), encoding="utf-8")
    for path in folder.glob("*.*.md"):
        path.unlink()
    print(f"CHANGELOG.md has a section {version} - {today}")


if __name__ == "__main__":
    main(sys.argv[1:])
