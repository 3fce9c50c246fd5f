"""How Sphinx makes the site: `make docs`. Nothing a page needs is fetched when it is viewed."""

import json
import os
import sys
import warnings
from importlib.metadata import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# A warning of an example is shown on its page, without the place where the page was made.
warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\n"

from sitetools.links import project_urls, source_url  # noqa: E402

facts = metadata("driftglm")
project = "driftglm"
author = copyright = "The driftglm developers"  # noqa: A001
release = version = facts["Version"]
home = project_urls()["Homepage"]

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sitetools.links",
    "sitetools.mathml",
    "sitetools.reference",
    "sitetools.commands",
    "sitetools.llms",
    "sitetools.tables",
]
exclude_patterns = [
    "site",
    "tools",
    "sitetools",
    "**/README.txt",
    "**/GALLERY_HEADER.rst",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
root_doc = "index"
nitpicky = False
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions; nothing is cached
highlight_language = "default"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "literal"

sphinx_gallery_conf = {
    "examples_dirs": ["site/tutorials", "site/gallery"],
    "gallery_dirs": ["tutorials", "examples"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "backreferences",
    "doc_module": ("driftglm",),
    "reference_url": {},
    "image_scrapers": ("sitetools.figures.figure_at_the_end",),
    "ignore_repr_types": r"matplotlib\.figure",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.rst",
    "parallel": False,
}
if os.environ.get("DRIFTGLM_DOCS") == "fast":  # pages alone: no example is run
    sphinx_gallery_conf["plot_gallery"] = "False"

html_theme = "pydata_sphinx_theme"
html_title = "driftglm"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
templates_path = ["site/templates"]
html_show_sourcelink = False
html_show_search_summary = False  # a summary is fetched, which a browser refuses for files
toc_object_entries_show_parents = "hide"
html_copy_source = False
html_context = {
    "default_mode": "auto",
    "versions": json.loads((HERE / "site" / "versions.json").read_text(encoding="utf-8")),
    "home": home,
}
html_theme_options = {
    "logo": {"text": "driftglm"},
    "icon_links": [{"name": "Source", "url": source_url(), "icon": "fa-brands fa-github"}],
    "navbar_end": ["components/versions", "theme-switcher", "navbar-icon-links"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}
