"""The first picture of a page: dotted where nothing was seen, named, with what happened when."""

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.report import Story, write_report
from driftglm.simulate import simulate_panel

N_STEPS, N_LINES = 6, 8
NAMES = ["<script>window.hacked=1</script>", "", "{{7*7}}", "__proto__", "n" * 500, "b", "b", "c"]


@pytest.fixture(scope="module")
def page_with_story(tmp_path_factory):
    """As many lines as there may be, with odd names; the first was not seen in the middle."""
    made = simulate_panel(n_timesteps=N_STEPS, rows_per_step=40, n_features=4, random_state=0)
    model = DriftRegressor(extrapolate="forecast").fit(made.X, made.y, time=made.time)
    observed = np.tile(np.linspace(-1.0, 1.0, N_STEPS), (N_LINES, 1))
    observed[0, 2:4] = np.nan
    steps = list(model.timesteps_)
    marks = {steps[1]: NAMES[0], steps[2]: "a word " * 20, steps[-1]: "the end"}
    story = Story("A story", "Said below.", "y", NAMES, made.X[:N_LINES], observed, marks)
    path = tmp_path_factory.mktemp("story") / "r.html"
    return write_report(path, model=model, story=story)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_story_fits_and_says_who_is_who(visit, page_with_story, artifacts, width, theme):
    seen = visit(page_with_story, viewport={"width": width, "height": 900}, color_scheme=theme)
    page = seen.page
    page.locator("#story .plot").scroll_into_view_if_needed()
    page.wait_for_selector("#story .plot[data-drawn]", timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    pieces = page.locator("#story .plot svg .mark-line path")
    assert pieces.count() == N_LINES * (N_STEPS - 1)
    dotted = [
        pieces.nth(k).get_attribute("stroke-dasharray") == "2,4" for k in range(pieces.count())
    ]
    assert sum(dotted) == 3  # before, between and after the two steps without anything seen
    words = page.locator("#story .plot svg .mark-text text").all_text_contents()
    assert "the end" in words
    assert NAMES[0] in words
    assert max(map(len, words)) <= 32
    at_ends = {"{{7*7}}", "__proto__"} & set(words)
    assert len(at_ends) == (2 if width > 700 else 0)
    assert page.evaluate("window.hacked") is None
    assert seen.complaints == []
    page.locator("#story").screenshot(path=artifacts / f"story-{width}-{theme}.png")


def test_a_dark_page_prints_dark_on_white_with_all_its_plots(visit, page_with_story):
    """Also those that nobody has scrolled to; afterwards the page is as it was."""
    seen = visit(page_with_story, viewport={"width": 1280, "height": 600}, color_scheme="dark")
    page = seen.page
    page.wait_for_selector("html[data-ready]")
    plots, drawn = page.locator(".plot"), page.locator(".plot[data-drawn]")
    page.wait_for_timeout(500)
    assert drawn.count() < plots.count()
    page.evaluate("""() => {
        window.themes = [];
        const theme = () => document.documentElement.dataset.theme;
        addEventListener("beforeprint", () => window.themes.push(theme()));
    }""")
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert page.evaluate("window.themes") == ["light"]
    page.wait_for_function(
        "[...document.querySelectorAll('.plot')].every((each) => each.dataset.drawn)"
    )
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert seen.complaints == []
