"""Limits that keep the code readable: the length of files and functions, and branches."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "driftglm"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 450
MOST_FUNCTION_LINES = 60
MOST_COMPLEXITY = 15
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp)


def functions(module):
    tree = ast.parse(module.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def complexity(function):
    """One, and one more for every branch, condition and operand of `and` and `or` but the first."""
    total = 1
    for node in ast.walk(function):
        total += isinstance(node, BRANCHES)
        total += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        total += 1 + len(node.ifs) if isinstance(node, ast.comprehension) else 0
    return total


def length(function):
    """Lines of a function; the examples at the end of its docstring are not its burden."""
    _, heading, examples = (ast.get_docstring(function) or "").partition("\n\nExamples\n---")
    shown = len(f"{heading}{examples}".splitlines()) - 1 if heading else 0
    return function.end_lineno - function.lineno + 1 - shown


def test_examples_do_not_count():
    body = 'def f(x):\n    """One.\n\n    Examples\n    --------\n    >>> f(1)\n    1\n    """'
    assert length(ast.parse(body).body[0]) == 3


def test_complexity_counts_branches_conditions_and_loops():
    body = "def f(x):\n    return [y for y in x if y and x] if x else 0"
    assert complexity(ast.parse(body).body[0]) == 5


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_files_and_functions_are_short(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for each in functions(module):
        assert length(each) <= MOST_FUNCTION_LINES, each.name
        assert complexity(each) <= MOST_COMPLEXITY, each.name
