# ruff: noqa: INP001 (a script, not a package)
"""A picture of a report, for the README: `python docs/tools/report_picture.py report.html out.png`.

Needs the packages of the extra `browser` and chromium on the path (or DRIFTGLM_CHROMIUM).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTH = 1280


def main() -> int:
    """Read the command line, take the picture, say where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, help="a page written by driftglm.report")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--height", type=int, default=1600, help="pixels shown, from --from down")
    parser.add_argument("--from", dest="start", help="id of the part to begin with, e.g. paths")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    arguments = parser.parse_args()
    chromium = os.environ.get("DRIFTGLM_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not on the path; install it, or set DRIFTGLM_CHROMIUM to its place.")
    if not arguments.report.is_file():
        sys.exit(f"{arguments.report} is no file; write a report first.")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=["--headless", *root])
        size = {"width": WIDTH, "height": 900}
        page = browser.new_page(viewport=size, color_scheme=arguments.theme)
        page.goto(arguments.report.resolve().as_uri())
        take(page, arguments.picture, arguments.height, arguments.start)
        browser.close()
    print(arguments.picture)  # noqa: T201
    return 0


def take(page: Page, picture: Path, height: int, start: str | None) -> None:
    """Draw every plot, then keep `height` pixels from the top, or from a part of the page."""
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        page.wait_for_function("host => host.dataset.drawn || host.querySelector('p')", arg=plot)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    top = 0.0
    if start is not None:
        box = page.locator(f"[id='{start}']").bounding_box()
        top = box["y"] if box else 0.0
    full = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": top, "width": WIDTH, "height": min(height, full - top)}
    page.screenshot(path=picture, full_page=True, clip=clip)


if __name__ == "__main__":
    sys.exit(main())
