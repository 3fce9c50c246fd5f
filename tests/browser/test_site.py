"""The site in a browser, from the disk: no errors, no network, nothing that shuts readers out.

`make docs` makes it, `make docs-browser` runs this. DRIFTGLM_SITE says where it is.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

SITE = Path(os.environ.get("DRIFTGLM_SITE", "nowhere")).resolve()
PAGES = [
    "index.html",
    "start.html",
    "learn.html",
    "mathematics.html",
    "glossary.html",
    "comparison.html",
    "tutorials/plot_01_did_the_effect_change.html",
    "examples/index.html",
    "reference.html",
    "api/driftglm.DriftRegressor.html",
    "commands/fit.html",
    "results/history.html",
]

pytestmark = pytest.mark.skipif(
    "DRIFTGLM_SITE" not in os.environ, reason="`make docs-browser` says where the site is"
)


@pytest.fixture
def look(browser):
    """Open a page; what it asks of the network or complains of fails the test."""
    contexts, complaints, requests = [], [], []

    def start(name, **settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: message.type == "error" and complaints.append(message.text),
        )
        path, mark, query = name.partition("?")
        page.goto(f"{(SITE / path).as_uri()}{mark}{query}")
        page.wait_for_load_state("networkidle")
        return page

    yield start
    for each in contexts:
        each.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_quietly_and_axe_finds_nothing_serious(look, artifacts, name, theme):
    page = look(name, color_scheme=theme, viewport={"width": 1280, "height": 900})
    picture = f"site-{name.removesuffix('.html').replace('/', '-')}-{theme}.png"
    page.screenshot(path=str(artifacts / picture), full_page=False)
    spec = find_spec("axe_core_python")
    if spec is None:
        pytest.skip("needs the package axe-core-python")
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")
    assert len(found["passes"]) > 20
    bad = [
        (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert bad == []


def test_a_telephone_needs_no_scrolling_sideways(look, artifacts):
    page = look("index.html", viewport={"width": 390, "height": 844})
    page.screenshot(path=str(artifacts / "site-telephone.png"), full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_search_finds_a_word_without_a_server(look):
    page = look("search.html?q=autocorrelation")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.locator("#search-results li").count() > 3


def test_every_link_between_pages_leads_to_one():
    """All pages of the site, not the ten above: read, not opened."""
    broken = set()
    for page in (each for each in SITE.rglob("*.html") if "_static" not in each.parts):
        text = page.read_text(encoding="utf-8")
        for target in set(re.findall(r'href="([^"#?]+)', text)):
            if "://" in target or target.startswith(("mailto:", "data:")):
                continue
            if not (page.parent / target).exists():
                broken.add(f"{page.relative_to(SITE)} -> {target}")
    assert broken == set()
