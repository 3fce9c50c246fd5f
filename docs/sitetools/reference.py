"""The reference: a page for every public name, made of its docstring."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from sitetools.pages import heading, write_pages

FOLDER = Path(__file__).resolve().parents[1] / "api"
#: Public modules in the order of the reference, and what each is for.
MODULES = {
    "driftglm": "Estimators, and `load`",
    "driftglm.evaluation": "Rolling origins, comparisons, what was known at the time",
    "driftglm.baselines": "Ridge and lasso, of one step or of all",
    "driftglm.priors": "What is assumed about a coefficient path",
    "driftglm.predictive": "Forecasts as distributions, and proper scores",
    "driftglm.plots": "Figures",
    "driftglm.report": "A page about a model or a comparison",
    "driftglm.simulate": "Data drawn from the model, with the truth",
    "driftglm.text": "Vocabularies",
    "driftglm.datasets": "Readers of corpora and tables",
    "driftglm.experiments": "The paper's experiments",
    "driftglm.exceptions": "Errors and warnings",
}
#: Methods that scikit-learn makes for every estimator.
INHERITED = {"set_fit_request", "set_predict_request", "set_score_request", "set_transform_request"}


def public_names(module: str) -> list[str]:
    """Public names of a module that are no modules themselves, `__version__` aside."""
    place = importlib.import_module(module)
    names = getattr(place, "__all__", None) or [
        name
        for name, value in vars(place).items()
        if getattr(value, "__module__", None) == module and not name.startswith("_")
    ]
    return [
        name
        for name in names
        if name != "__version__" and not inspect.ismodule(getattr(place, name))
    ]


def page_name(module: str, name: str) -> str:
    """File of a name's page. Letters' case is kept apart, for file systems that do not."""
    suffix = "-function" if name.islower() else ""
    return f"{module}.{name}{suffix}.rst"


def name_page(module: str, name: str) -> str:
    """The page of one name."""
    value = getattr(importlib.import_module(module), name)
    lines = [heading(name), f".. currentmodule:: {module}\n"]
    if inspect.isclass(value):
        lines.append(
            f".. autoclass:: {name}\n   :members:\n   :inherited-members: object, Exception"
        )
        if issubclass(value, BaseException):
            lines[-1] = f".. autoclass:: {name}\n   :show-inheritance:"
    else:
        lines.append(f".. autofunction:: {name}")
    lines.append(
        f"\n.. minigallery:: {module}.{name}\n   :add-heading: Used in\n   :heading-level: -\n"
    )
    return "\n".join(lines)


def module_page(module: str, purpose: str) -> str:
    """The page of a module: its names, each with the first sentence about it."""
    place = importlib.import_module(module)
    rows = [
        heading(module),
        f"{purpose.replace('`', '``')}.\n",
        ".. list-table::\n   :widths: 35 65\n",
    ]
    names = public_names(module)
    for name in names:
        summary = (inspect.getdoc(getattr(place, name)) or "").partition("\n\n")[0]
        sentence = (
            " ".join(summary.split()).replace("`", "``").replace("*", "\\*").replace("|", "\\|")
        )
        rows.append(f"   * - :doc:`{name} <{page_name(module, name)[:-4]}>`\n     - {sentence}")
    toc = [f"   {page_name(module, name)[:-4]}" for name in names]
    return "\n".join([*rows, "\n.. toctree::\n   :hidden:\n", *toc, ""])


def all_pages() -> dict[str, str]:
    """Every page of the reference by the name of its file."""
    pages = {}
    for module, purpose in MODULES.items():
        pages[f"{module}.rst"] = module_page(module, purpose)
        for name in public_names(module):
            pages[page_name(module, name)] = name_page(module, name)
    return pages


def _on_start(app: Any) -> None:
    write_pages(FOLDER, all_pages())


def _skip(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn and the standard library bring along."""
    home = getattr(value, "__module__", None) or "driftglm"
    return True if not home.startswith("driftglm") or name in INHERITED else None


def setup(app: Any) -> dict[str, bool]:
    """Write the reference before Sphinx looks for pages."""
    app.connect("builder-inited", _on_start, priority=100)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
