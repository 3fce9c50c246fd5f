"""Links of the Markdown pages, which lead to files on GitHub, made to lead to pages of the site.

On GitHub a page links to any file beside it. On the site a link to a page stays as it is; one to
a document of the project that the site has too leads there; one to any other file leads to the
file on GitHub.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from sitetools.reference import MODULES

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
#: Documents outside of docs/ and the pages that include them.
INCLUDED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "SECURITY.md": "project/security.md",
    "RELEASING.md": "project/releasing.md",
}
#: Pages that the site leaves out.
HIDDEN: tuple[str, ...] = ()
#: How the line begins that a benchmark puts under the page it writes.
MEASURED = "Measured on commit"
#: Tables of results have many columns: the list of a page's headings gives them its place.
WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")


def project_urls() -> dict[str, str]:
    """Addresses of the project, which stand in pyproject.toml."""
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    urls: dict[str, str] = facts["project"]["urls"]
    return urls


def source_url() -> str:
    """Address of the repository."""
    return project_urls()["Source"]


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""


def last_change(page: Path) -> str:
    """Commit and day of a page's last change; nothing where the repository does not know."""
    if _git("rev-parse", "--is-shallow-repository") != "false":
        return ""  # a clone of one commit says of every page that it was changed there
    return _git("log", "-1", "--format=%h of %cs", "--", str(page))


def site_link(target: str, page: Path) -> str:
    """What a link of a page (its path in the repository) is on the site."""
    name, mark, anchor = target.partition("#")
    if not name or "://" in name or name.startswith(("mailto:", "/")):
        return target
    place = (page.parent / name).resolve()
    if not place.is_relative_to(ROOT) or not place.exists():
        return target
    path = place.relative_to(ROOT).as_posix()
    if path in INCLUDED:
        return f"/{INCLUDED[path]}{mark}{anchor}"
    if place.is_relative_to(DOCS) and place.suffix in {".md", ".svg", ".png"}:
        return f"/{place.relative_to(DOCS).as_posix()}{mark}{anchor}"
    kind = "tree" if place.is_dir() else "blob"
    return f"{source_url()}/{kind}/main/{path}{mark}{anchor}"


def original(docname: str) -> Path:
    """The file a page is made of: itself, or the document it includes."""
    for name, page in INCLUDED.items():
        if page == f"{docname}.md" and docname != "index":
            return ROOT / name
    return DOCS / f"{docname}.md"


def rewrite(text: str, page: Path) -> str:
    """The text of a page, its links made those of the site; code is left alone."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if index % 2 else LINK.sub(lambda found: site_link(found[0], page), part)
        for index, part in enumerate(parts)
    )


def unlisted(text: str) -> list[str]:
    """Guides that no list of the site names: those of the learn page and of the top."""
    listed = text + (DOCS / "index.md").read_text(encoding="utf-8")
    names = sorted(path.stem for path in DOCS.glob("*.md"))
    return [name for name in names if not re.search(rf"^{name}$", f"{listed}\nindex", re.MULTILINE)]


def modules() -> str:
    """The public modules, and what each is for."""
    listed = [f"- {{doc}}`{name} <api/{name}>`: {purpose}" for name, purpose in MODULES.items()]
    listed.append("- {doc}`Commands <commands/index>`: every option of `driftglm`")
    return "\n" + "\n".join(listed) + "\n"


def contents(docname: str, text: str) -> str:
    """Lists a page needs besides: a README its folder's pages, "Learn" the guides not named."""
    if docname.endswith("/README"):
        return "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    if docname == "reference":
        return modules()
    if docname.startswith("results/"):
        commit = "" if MEASURED in text else last_change(DOCS / f"{docname}.md")
        return f"\n---\n\nThis page was last changed in commit {commit}.\n" if commit else ""
    more = [name for name in unlisted(text) if name not in HIDDEN] if docname == "learn" else []
    names = "\n".join(more)
    return f"\n```{{toctree}}\n:caption: More\n:maxdepth: 1\n\n{names}\n```\n" if more else ""


def _on_read(app: Any, docname: str, content: list[str]) -> None:
    page = original(docname)
    if page.suffix != ".md" or not page.exists():
        return
    text = page.read_text(encoding="utf-8") if page.parent == ROOT else content[0]
    wide = WIDE if docname == "comparison" or docname.startswith("results/") else ""
    content[0] = wide + rewrite(text, page) + contents(docname, text)


def setup(app: Any) -> dict[str, bool]:
    """Rewrite the links of every page when it is read."""
    app.connect("source-read", _on_read)
    return {"parallel_read_safe": True}
