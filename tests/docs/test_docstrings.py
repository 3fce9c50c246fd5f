"""Every example in the docstrings and in the README runs and prints what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import driftglm

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(driftglm.__path__, prefix="driftglm.")
)
README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", ["driftglm", *MODULES])
def test_the_examples_of_a_module_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail, see stdout"


def test_there_are_examples_at_all():
    """An empty walk would pass every test above."""
    found = sum(
        len(test.examples)
        for name in MODULES
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
    )
    assert len(MODULES) > 20
    assert found > 15


@pytest.mark.parametrize("name", driftglm.__all__)
def test_every_public_name_is_documented(name):
    if name == "__version__":
        return
    assert (getattr(driftglm, name).__doc__ or "").strip()


def test_the_examples_of_the_readme_run():
    result = doctest.testfile(str(README), module_relative=False)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail, see stdout"
