"""The report as a reader meets it: in a browser, on two screens, in two themes."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from driftglm.report.write import bundle

LIMIT = 8_000_000
SCREENS = {390: 844, 1280: 900}
# What no one can see or reach: to the right of the screen, not in a part that scrolls, and not a
# label that ends in three dots.
PAST_THE_EDGE = """Array.from(document.querySelectorAll("main *, header *"))
  .filter((node) => !node.closest(".scroll, .sr, .label *"))
  .filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5)
  .map((node) => node.outerHTML.slice(0, 100))"""
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
@pytest.mark.parametrize("which", ["report", "scaled_report", "text_report"])
def test_pages_fit_both_screens_in_both_themes(request, visit, artifacts, which, width, theme):
    path = request.getfixturevalue(which)
    screen = {"width": width, "height": SCREENS[width]}
    seen = visit(path, viewport=screen, color_scheme=theme)
    seen.see_all()
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(PAST_THE_EDGE) == []
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.screenshot(path=artifacts / f"{which}-{width}-{theme}.png", full_page=True)


@pytest.mark.parametrize("which", EDGES)
def test_unusual_fits_make_pages_without_complaints(visit, edge_reports, artifacts, which):
    seen = visit(edge_reports[which], viewport={"width": 390, "height": 844})
    seen.see_all()
    assert rows(seen.page).count() > 0
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert seen.page.evaluate(PAST_THE_EDGE) == []
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
    button = page.locator("#theme")
    assert button.inner_text() == "Switch to dark"
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"{label} !== {before[0]!r}")
    assert page.evaluate(paper) != before[1]
    assert button.inner_text() == "Switch to light"
    page.keyboard.press("Enter")
    page.wait_for_function(f"{label} === {before[0]!r}")
    assert (button.inner_text(), page.evaluate(paper)) == ("Switch to dark", before[1])


def test_the_theme_button_says_light_where_the_system_is_dark(visit, report):
    assert (
        visit(report, color_scheme="dark").page.locator("#theme").inner_text() == "Switch to light"
    )


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
@pytest.mark.parametrize("which", ["report", "scaled_report", "text_report"])
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


def numbers_of(page, section):
    """The table below the plot of a section, its rows as lists of texts."""
    box = page.locator(f"#{section} details").first
    box.evaluate("box => { box.open = true; }")
    box.locator("tbody tr").first.wait_for()  # the table is made when it is opened
    return [row.locator("th, td").all_inner_texts() for row in box.locator("tbody tr").all()]


def redrawn(page, section, act):
    """Lines of a section's plot before and after something is done."""
    lines = f"#{section} .plot svg .mark-line path"
    shapes = f"Array.from(document.querySelectorAll('{lines}'), (line) => line.getAttribute('d'))"
    drawn(page, section)
    before = page.evaluate(shapes)
    turn = page.locator(f"#{section} .plot").first.get_attribute("data-drawn")
    act()
    page.wait_for_function(
        f"document.querySelector('#{section} .plot').dataset.drawn !== {turn!r}", timeout=20_000
    )
    return before, page.evaluate(shapes)


def interval(text):
    return [number(end) for end in text.split(" to ")]


def test_the_intercept_has_a_band_and_a_next_step(visit, scaled_report):
    page = visit(scaled_report).page
    drawn(page, "intercept")
    assert page.locator("#intercept .plot svg .mark-area path").count() == 1
    rows = numbers_of(page, "intercept")
    assert [row[0] for row in rows] == [*map(str, range(2001, 2011)), "next"]
    for _, text in rows:
        value, rest = text.split(" (")
        low, high = interval(rest.rstrip(")"))
        assert low < number(value) < high
        assert 98 < number(value) < 102  # at x = 0 it would be thousands lower
    assert "columns at their centre" in page.locator("#intercept figcaption").inner_text()


def test_classes_have_an_intercept_and_a_fan_each(visit, edge_reports):
    page = visit(edge_reports["classes"]).page
    drawn(page, "intercept")
    assert page.locator("#intercept .key li").all_inner_texts() == ["0", "1", "2"]
    assert page.locator("#intercept .plot svg .mark-area path").count() == 3
    before, after = redrawn(page, "fan", lambda: page.select_option("#fan select", label="1"))
    assert before != after
    assert "The probability of 1 for a row" in page.locator("#fan figcaption").inner_text()


def test_the_fan_has_three_bands_one_within_the_other(visit, scaled_report):
    seen = visit(scaled_report, reduced_motion="reduce")
    seen.see_all()  # plots above move it while they are drawn
    page = seen.page
    drawn(page, "fan")
    assert page.locator("#fan .plot svg .mark-area path").count() == 3
    page.wait_for_timeout(300)  # scrolling hides what is told, and is told of late
    box = page.locator("#fan .plot").bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    page.locator("#tip").wait_for(state="visible")
    assert page.locator("#tip dt").all_inner_texts() == ["forecast", "90 %", "80 %", "50 %"]
    rows = numbers_of(page, "fan")
    assert [row[0] for row in rows] == [str(year) for year in range(2001, 2019)]
    for row in rows[:10]:
        assert row[2:] == ["\u2013"] * 3
    ends = [[interval(text) for text in row[2:]] for row in rows[10:]]
    for row, (wide, middle, narrow) in zip(rows[10:], ends, strict=True):
        assert wide[0] < middle[0] < narrow[0] < number(row[1]) < narrow[1] < middle[1] < wide[1]
    assert ends[-1][0][1] - ends[-1][0][0] > ends[0][0][1] - ends[0][0][0]


def test_a_mode_has_a_forecast_without_bands(visit, edge_reports):
    page = visit(edge_reports["mode"]).page
    drawn(page, "fan")
    assert page.locator("#fan .plot svg .mark-area path").count() == 0
    assert page.locator("#fan .plot svg .mark-line path").count() == 2
    assert "no intervals" in page.locator("#fan figcaption").inner_text()


def test_fit_by_step_shows_either_score(visit, report):
    page = visit(report).page
    shares = numbers_of(page, "scores")
    assert [row[0] for row in shares] == [str(year) for year in range(2001, 2009)]
    assert all(0 < number(share) < 1 for _, share in shares)
    act = lambda: page.select_option("#scores select", label="the mean squared error")  # noqa: E731
    before, after = redrawn(page, "scores", act)
    assert before != after
    assert numbers_of(page, "scores") != shares


def test_findings_are_shown_letter_for_letter_with_the_histogram(visit, report):
    page = visit(report).page
    text = page.locator("#diagnosis table").first.inner_text()
    for part in ("wild step", "tails", "major", "<script>window.hacked=1</script>", "onerror"):
        assert part in text
    drawn(page, "diagnosis")
    assert page.locator("#diagnosis .plot svg .mark-rect path").count() == 11  # bars and band
    rows = numbers_of(page, "diagnosis")
    counts = [number(row[1]) for row in rows]
    assert sum(counts) == 480
    low, high = interval(rows[0][2])
    assert low < 48 < high < min(counts[0], counts[-1])  # residuals are twice too large


def test_a_column_on_a_large_scale_is_no_flat_line(visit, scaled_report):
    page = visit(scaled_report).page

    def reach(path):
        """How much of the plot's height a line takes."""
        heights = [float(pair.split(",")[1]) for pair in path[1:].split("L")]
        return max(heights) - min(heights)

    income = [
        chip.inner_text().startswith("income") for chip in page.locator("#paths .chips li").all()
    ].index(True)
    act = lambda: page.select_option("#paths select", label="per unit of the column")  # noqa: E731
    standard, raw = redrawn(page, "paths", act)
    assert reach(standard[income]) > 50
    assert reach(raw[income]) < 2
    value = numbers_of(page, "paths")[0][1 + income].split(" ")[0]
    assert number(value) == pytest.approx(0.001, rel=0.2)


def test_the_heat_map_starts_with_coefficients_that_can_be_compared(visit, scaled_report):
    page = visit(scaled_report).page
    first = {row[0]: number(row[-1]) for row in numbers_of(page, "heat")}
    assert first["income"] == pytest.approx(2, rel=0.2)
    page.select_option("#heat select", label="per unit of the column")
    raw = {row[0]: number(row[-1]) for row in numbers_of(page, "heat")}
    assert raw["income"] == pytest.approx(0.002, rel=0.2)
    assert raw["trend"] == pytest.approx(first["trend"], rel=0.1)


def test_levels_are_shown_with_what_they_are_compared_with(visit, scaled_report):
    page = visit(scaled_report).page
    row = page.locator("#table tbody tr", has_text="colour=blue")
    assert row.locator(".against").inner_text() == "against colour=<script>window.hacked=1</script>"
    assert page.locator("#table .against").count() == 2
    assert page.evaluate("window.hacked") is None


def test_drifting_is_one_number_wherever_it_stands(visit, scaled_report):
    page = visit(scaled_report).page
    boxes = dict(
        zip(*(page.locator(f".counts {t}").all_inner_texts() for t in ("dt", "dd")), strict=True)
    )
    n, flips = int(boxes["drifting"]), int(boxes["of these change sign"])
    assert n > flips > 0
    assert f"{n} drifting, of which {flips} change" in page.locator(".lead").inner_text()
    page.select_option("#table .tools select", label="drifting")
    assert rows(page).count() == n
    assert sorted(set(column(page, "Kind"))) == ["drifting", "sign-flip"]
