"""The site says what there is: names, commands, links; results say where they are from."""

import importlib
import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest
from sitetools import commands, links, llms, reference

import driftglm

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAMES = [(module, name) for module in reference.MODULES for name in reference.public_names(module)]


def test_every_public_package_is_in_the_reference():
    packages = {
        f"driftglm.{name}" for name in driftglm.__all__ if inspect.ismodule(getattr(driftglm, name))
    }
    assert packages <= set(reference.MODULES)
    listed = re.findall(r"^api/([\w.]+)$", (DOCS / "reference.md").read_text(), re.MULTILINE)
    assert listed == list(reference.MODULES)


def test_every_public_name_has_a_page_of_its_own():
    pages = reference.all_pages()
    wanted = {reference.page_name(module, name) for module, name in NAMES}
    assert len(wanted) == len(NAMES) > 60
    assert wanted <= set(pages)
    # File systems that do not tell upper from lower case hold them all, too.
    assert len({name.lower() for name in pages}) == len(pages)
    for module, name in NAMES:
        page = pages[reference.page_name(module, name)]
        assert re.search(rf"^\.\. auto(class|function):: {name}$", page, re.MULTILINE)
        assert reference.page_name(module, name)[:-4] in pages[f"{module}.rst"]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda part: part)
def test_every_public_name_has_an_example(module, name):
    """That they print what they say is tested in test_docstrings.py."""
    value = getattr(importlib.import_module(module), name)
    assert ">>>" in (value.__doc__ or ""), f"{module}.{name} has no example"


def test_every_command_and_option_has_a_place():
    found = commands.all_commands()
    assert {"fit", "predict", "compare", "report", "text fit"} <= set(found)
    for words, command in found.items():
        page = commands.command_page(words, command)
        for parameter in command.params:
            if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                assert parameter.opts[0] in page, f"{words} {parameter.opts[0]}"


def test_links_lead_to_pages_of_the_site_or_to_files_on_github():
    page = DOCS / "command-line.md"
    assert links.site_link("glossary.md#model", page) == "/glossary.md#model"
    assert links.site_link("../CONTRIBUTING.md", page) == "/project/contributing.md"
    assert links.site_link("https://arxiv.org/abs/1310.2627", page).startswith("https://arxiv")
    script = links.site_link("tools/build_demo_data.py", page)
    assert script == f"{links.source_url()}/blob/main/docs/tools/build_demo_data.py"
    text = "[a](tools/build_demo_data.py) `[a](tools/build_demo_data.py)`"
    assert links.rewrite(text, page) == f"[a]({script}) `[a](tools/build_demo_data.py)`"


def slug(heading):
    """The anchor that GitHub and MyST give a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS))
)
def test_links_to_a_heading_find_it(page):
    for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", page.read_text()):
        other = (page.parent / target if target else page).read_text()
        headings = re.findall(r"^#+ (.*)$", other, re.MULTILINE)
        assert anchor in {slug(each) for each in headings}, f"{target}#{anchor}"


def test_every_guide_is_named_or_gathered():
    learn = (DOCS / "learn.md").read_text()
    made = links.contents("learn", learn)
    named = set(re.findall(r"^([\w-]+)$", learn + made, re.MULTILINE))
    guides = {path.stem for path in DOCS.glob("*.md")}
    assert guides - named <= {"index", "start", "learn", "reference", *links.HIDDEN}


def test_the_title_of_an_example_stands_for_its_figures():
    from sitetools.figures import example_title

    places = sorted((DOCS / "site").glob("*/plot_*.py"))
    titles = [example_title(str(path)) for path in places]
    assert len(set(titles)) == len(places) >= 25
    assert all(titles)


def test_the_plain_texts_hold_all_guides():
    text = llms.full()
    for page in llms.guides():
        assert page.read_text().partition("\n")[0] in text
        assert f"({page.stem}.html)" in llms.short()


RESULTS = sorted(set((DOCS / "results").glob("*.md")) - {DOCS / "results" / "README.md"})


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_a_results_page_names_the_command_that_made_it(page):
    named = re.findall(
        r"python (benchmarks/\w+\.py)|(make bench)|(driftglm reproduce)", page.read_text()
    )
    assert named
    for script, *_ in named:
        assert not script or (ROOT / script).exists(), script


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source archive has no commits")
def test_on_the_site_a_results_page_carries_its_commit():
    (page, *_) = RESULTS
    if (ROOT / ".git" / "shallow").exists():
        pytest.skip("a clone of one commit does not know")
    assert re.fullmatch(r"[0-9a-f]{7,} of \d{4}-\d\d-\d\d", links.last_change(page))
    assert links.last_change(page) in links.contents(f"results/{page.stem}", "")
    from result_pages import stamp

    assert links.contents(f"results/{page.stem}", stamp()) == ""


def test_figures_told_elsewhere_are_those_of_their_page():
    import results_tables

    for page, name, make in results_tables.PLACES:
        text = page.read_text()
        assert results_tables.replaced(text, name, make()) == text, (
            f"{page.name} is behind its results: python docs/tools/results_tables.py"
        )


# ------------------------------------------------------------------------------ the project


def facts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_recipe_has_the_version_and_the_dependencies_of_the_package():
    recipe = (ROOT / "conda-recipe" / "recipe.yaml").read_text()
    assert f'version: "{facts()["version"]}"' in recipe
    assert f"\nversion: {facts()['version']}\n" in (ROOT / "CITATION.cff").read_text()
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    wanted = {re.sub(r"(?<=\w)>=", " >=", each) for each in facts()["dependencies"]}
    assert set(re.findall(r"^    - (\S+ >=\S+)$", run, re.MULTILINE)) == {
        *wanted,
        f"python {facts()['requires-python']}",
    }
    scripts = recipe.partition("entry_points:\n")[2].partition("\n\n")[0]
    assert [each.strip() for each in scripts.splitlines()] == [
        f"- {name} = {place}" for name, place in facts()["scripts"].items()
    ]


def test_actions_are_pinned_by_digest_and_none_may_do_more_than_it_needs():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text()
        used = re.findall(r"uses: (\S+)", text)
        assert used
        assert all(re.search(r"@[0-9a-f]{40}$", each) for each in used), workflow.name
        assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)


def test_the_floors_are_those_of_the_package():
    from floors import floors

    found = floors(facts())
    assert "numba==0.60" in found
    names = {re.split(r"[\[>]", each)[0] for each in facts()["dependencies"]}
    assert names <= {each.partition("==")[0] for each in found}


def test_fragments_are_put_under_their_headings():
    from changelog import cut

    old = "# Changelog\n\n## Unreleased\n\n### Added\n\n- One.\n\n### Fixed\n\n- Two.\n"
    new = cut(old, {"Added": ["Three,\nand more."], "Changed": ["Four."]}, "0.1.0", "2026-11-18")
    assert new == (
        "# Changelog\n\n## 0.1.0 - 2026-11-18\n\n### Added\n\n- One.\n- Three,\n  and more.\n\n"
        "### Fixed\n\n- Two.\n\n### Changed\n\n- Four.\n"
    )
    again = cut(new, {"Fixed": ["Five."]}, "0.1.0", "2026-11-19")
    assert again.count("## 0.1.0") == 1
    assert "- Two.\n- Five." in again
    later = cut(again, {"Added": ["Six."]}, "0.2.0", "2027-01-01")
    assert later.index("## 0.2.0") < later.index("## 0.1.0")


def test_versions_of_the_site_are_links_to_folders():
    versions = json.loads((DOCS / "site" / "versions.json").read_text())
    assert {each["folder"] for each in versions} >= {"stable", "dev"}
