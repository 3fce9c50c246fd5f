"""The report as a reader meets it: in a browser, on two screens, in two themes."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from driftglm.report.write import bundle

LIMIT = 8_000_000
SCREENS = {390: 844, 1280: 900}
EDGES = ["one-step", "one-feature", "none-included", "long", "mode", "classes"]


def rows(page):
    return page.locator("#table tbody tr")


def names(page):
    return [text.strip() for text in rows(page).locator("th").all_inner_texts()]


def column(page, label):
    """Texts of a column of the page of the table shown."""
    heads = page.locator("#table thead th").all_inner_texts()
    at = next(i for i, head in enumerate(heads) if head.strip().startswith(label))
    return [
        rows(page).nth(i).locator("th, td").nth(at).inner_text() for i in range(rows(page).count())
    ]


def number(text):
    return float(text.replace("\u2212", "-").replace("> ", ""))


def drawn(page, section):
    """The plot of a section, in view and drawn."""
    page.locator(f"#{section} .plot").scroll_into_view_if_needed()
    return page.wait_for_selector(f"#{section} .plot[data-drawn]", timeout=20_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", SCREENS)
@pytest.mark.parametrize("which", ["report", "text_report"])
def test_pages_fit_both_screens_in_both_themes(request, visit, artifacts, which, width, theme):
    path = request.getfixturevalue(which)
    screen = {"width": width, "height": SCREENS[width]}
    seen = visit(path, viewport=screen, color_scheme=theme)
    seen.see_all()
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.screenshot(path=artifacts / f"{which}-{width}-{theme}.png", full_page=True)


@pytest.mark.parametrize("which", EDGES)
def test_unusual_fits_make_pages_without_complaints(visit, edge_reports, artifacts, which):
    seen = visit(edge_reports[which], viewport={"width": 390, "height": 844})
    seen.see_all()
    assert rows(seen.page).count() > 0
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    seen.page.screenshot(path=artifacts / f"{which}-390-light.png", full_page=True)


def test_odd_names_are_shown_letter_for_letter_and_nothing_runs(visit, report, panel):
    seen = visit(report)
    seen.see_all()
    page = seen.page
    page.select_option("#table .pager select", label="100")
    expected = sorted(name or "(no name)" for name in panel[0].columns)
    assert sorted(names(page)) == sorted(name.strip() for name in expected)
    title, sentence = page.locator("h1").inner_text(), page.locator(".sentence").inner_text()
    assert title == "</script><img src=x onerror='window.hacked=2'>"
    assert sentence == "<script>window.hacked=1</script>"
    assert page.title() == title
    assert sentence in page.locator(".lead").inner_text()
    assert sentence in page.locator("#settings").inner_text()
    for box in page.locator("details").all():
        box.evaluate("box => { box.open = true; }")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.evaluate("({}).polluted") is None


def test_odd_words_and_effects_are_shown_letter_for_letter(visit, text_report):
    seen = visit(text_report)
    seen.see_all()
    page = seen.page
    effects = page.locator("#paths option").all_text_contents()
    right_to_left = "\u202e\u05d9\u05d7\u05e1 \u05d7\u05d5\u05d1 \u05dc\u05d4\u05d5\u05df\u202c"
    assert effects == ["<script>window.hacked=1</script>", right_to_left, "place"]
    page.fill("#table input[type=search]", "</SCRIPT><IMG")
    assert set(names(page)) == {"</script><img src=x onerror='window.hacked=2'>"}
    assert page.evaluate("window.hacked") is None


def test_search_finds_parts_of_names_in_any_case(visit, report):
    page = visit(report).page
    page.fill("#table input[type=search]", "TWICE")
    assert names(page) == ["twice", "twice"]
    assert page.locator("#table [role=status]").inner_text() == "1\u20132 of 2 (of 40)"
    page.fill("#table input[type=search]", "no such thing")
    assert rows(page).count() == 0
    assert page.locator("#table [role=status]").inner_text() == "No feature matches"
    page.fill("#table input[type=search]", "")
    assert rows(page).count() == 10


def test_the_keyboard_sorts_both_ways_and_back(visit, report):
    page = visit(report).page
    before = names(page)
    button = page.get_by_role("button", name="Last")
    head = page.locator("#table th", has=button)
    button.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    values = [number(text) for text in column(page, "Last")]
    assert values == sorted(values, reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    values = [number(text) for text in column(page, "Last")]
    assert values == sorted(values)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "none"
    assert names(page) == before


def test_pages_of_the_table_hold_every_row_once(visit, report, panel):
    page = visit(report).page
    found = names(page)
    following = page.get_by_role("button", name="Next").last
    for _ in range(3):
        following.focus()
        page.keyboard.press("Enter")
        found += names(page)
    assert len(found) == 40
    assert sorted(found) == sorted((name or "(no name)").strip() for name in panel[0].columns)
    assert following.is_disabled()
    page.fill("#table input[type=number]", "2")
    page.keyboard.press("Tab")
    assert page.locator("#table [role=status]").inner_text() == "11\u201320 of 40"


def test_filtering_by_kind_shows_that_kind_only(visit, report):
    page = visit(report).page
    page.select_option("#table .tools select", label="zero")
    assert set(column(page, "Kind")) == {"zero"}


def test_picking_a_feature_draws_its_path(visit, report):
    page = visit(report).page
    drawn(page, "paths")
    lines = "#paths .plot svg .mark-line path"
    before = page.locator(lines).count()
    chips = page.locator("#paths .chips li").count()
    box = page.query_selector("#table tbody input:not(:checked)")
    name = box.get_attribute("aria-label").removeprefix("Draw ")
    box.focus()
    page.keyboard.press("Space")
    page.wait_for_function(f"document.querySelectorAll({lines!r}).length > {before}")
    assert page.locator("#paths .chips li").count() == chips + 1
    assert page.locator("#paths .chips li").last.inner_text().startswith(name)
    assert box.is_checked()
    page.locator("#paths .chips button").last.click()
    page.wait_for_function(f"document.querySelectorAll({lines!r}).length === {before}")


def test_hovering_shows_every_value_with_its_band(visit, report):
    page = visit(report).page
    box = drawn(page, "paths").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    year = int(tip.locator("strong").inner_text())
    assert 2001 <= year <= 2008
    values = tip.locator("dd").all_inner_texts()
    assert len(values) == page.locator("#paths .chips li").count()
    page.locator("#paths summary").click()
    row = page.locator("#paths details tbody tr", has_text=str(year))
    row.wait_for()  # the table is made when it is opened
    assert row.locator("td").all_inner_texts() == values
    for text in values:
        value, rest = text.split(" (")
        low, high = rest.rstrip(")").split(" to ")
        assert number(low) < number(value) < number(high)
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_theme_button_changes_page_and_plots(visit, report):
    page = visit(report, color_scheme="light").page
    drawn(page, "paths")
    label = "document.querySelector('#paths .plot svg .role-axis-label text').getAttribute('fill')"
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(label), page.evaluate(paper)
    button = page.get_by_role("button", name="Dark theme")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    page.wait_for_function(f"{label} !== {before[0]!r}")
    assert page.evaluate(paper) != before[1]


def test_choosing_another_model_shows_its_forecasts(visit, report, comparison):
    page = visit(report).page
    drawn(page, "forecasts")
    page.locator("#forecasts summary").click()
    before = page.locator("#forecasts details td").all_inner_texts()
    page.select_option("#forecasts select", index=1)
    assert page.locator("#forecasts details td").all_inner_texts() != before
    bold = page.locator("#comparison tr.total .best").first.inner_text()
    best = comparison.table("frame").iloc[-1].min()
    assert number(bold) == pytest.approx(best, abs=1e-4)


def test_choosing_an_effect_changes_words_paths_and_table(visit, text_report):
    page = visit(text_report).page
    drawn(page, "paths")
    before = page.locator("#words tbody").inner_text(), names(page)
    page.select_option("#paths select", label="place")
    assert page.locator("#words tbody").inner_text() != before[0]
    assert set(column(page, "Effect")) == {"place"}
    assert names(page) != before[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("which", ["report", "text_report"])
def test_axe_finds_no_serious_violation(request, visit, which, theme):
    spec = find_spec("axe_core_python")
    if spec is None:
        pytest.skip("needs the package axe-core-python")
    # The tester has to be let in; readers' pages keep their policy.
    seen = visit(request.getfixturevalue(which), color_scheme=theme, bypass_csp=True)
    seen.see_all()
    seen.page.locator("details").first.evaluate("box => { box.open = true; }")
    tester = Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    seen.page.evaluate(tester)
    found = seen.page.evaluate("axe.run(document)")
    assert len(found["passes"]) > 20
    bad = [
        (each["id"], [node["html"][:120] for node in each["nodes"][:3]])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]
    assert bad == []


def test_ten_thousand_features_open_fast_and_can_be_searched(visit, browser, large_report, folder):
    assert large_report.stat().st_size < LIMIT
    empty = folder / "empty.html"
    empty.write_text(
        f"<!doctype html><title>empty</title><script>(() => {{{bundle()}}})();</script>",
        encoding="utf-8",
    )

    def load(path):
        page = browser.new_page()
        page.goto(path.as_uri())
        took = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        page.close()
        return took

    # Side by side, the best of several: others may use the machine too.
    times = [(load(empty), load(large_report)) for _ in range(6)]
    least, most = (min(each) for each in zip(*times, strict=True))
    page = visit(large_report).page
    drawn(page, "paths")
    plot = page.evaluate("performance.getEntriesByName('plot-drawn')[0].startTime")
    print(f"empty {least:.0f} ms, 10,000 features {most:.0f} ms ({most / least:.2f} times), ")  # noqa: T201
    print(f"first plot after {plot:.0f} ms, {large_report.stat().st_size / 1e6:.2f} MB")  # noqa: T201
    assert most < 3 * least
    page.fill("#table input[type=search]", "number 9999")
    assert names(page) == ["feature number 9999"]
