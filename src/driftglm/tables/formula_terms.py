"""A formula as it is typed, "y ~ x1 + C(state) + x2:x3", becomes terms that a model file can hold.

formulaic reads it. Columns are computed here, so that a fitted model needs neither formulaic nor
anything that runs code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from driftglm.exceptions import DataError
from driftglm.tables.columns import column
from driftglm.tables.encoder import TableSpec
from driftglm.tables.expressions import Expression, with_computed
from driftglm.tables.formula import formulaic
from driftglm.tables.reading import Table
from driftglm.tables.terms import Term

CATEGORY = re.compile(r"C\(\s*(`[^`]+`|[^(),`]+?)\s*\)")
COLOURS = re.compile(r"\x1b?\[[0-9;]*m|[⧛⧚]")
AVAILABLE = "__formulaic_variables_available__"


def with_formula(table: Table, spec: TableSpec, text: str) -> tuple[Table, TableSpec]:
    """The table with all columns of a formula, and the spec with its target and terms."""
    taken = set(spec.roles.values()) | set(spec.drop)
    sides = _sides(text, [str(n) for n in table.frame.columns if n not in taken])
    target = _target(sides.lhs, text)
    if spec.target not in {None, target}:
        raise DataError(
            f"the formula predicts {target!r:.60} and --target is {spec.target!r:.60}; leave "
            "--target out."
        )
    categorical = list(spec.categorical)
    terms = [_term(each, text, categorical) for each in sides.rhs if str(each) != "1"]
    if len(terms) == len(list(sides.rhs)):
        raise DataError(
            f"the formula {text!r:.80} has no intercept; the model's own drifts and is always "
            "there. Leave out - 1 or 0 +."
        )
    if not terms:
        raise DataError(f"the formula {text!r:.80} has no feature on its right side.")
    used = list(dict.fromkeys(name for term in terms for name in term))
    table = with_computed(table, [target, *used])
    for name in used:
        column(table, name, "in the formula")
    column(table, target, "target")
    spec = replace(spec, target=target, terms=tuple(terms), categorical=_unique(categorical))
    _check_roles(spec, used)
    roles = set(spec.roles.values())
    others = (str(n) for n in table.frame.columns if n not in roles and n not in set(used))
    return table, replace(spec, drop=_unique([*spec.drop, *others]))


def _check_roles(spec: TableSpec, used: list[str]) -> None:
    """Refuse a feature that is something else already."""
    for role, taken in spec.roles.items():
        if taken in used:
            raise DataError(f"{taken!r:.60} is the {role} and stands in the formula; name two.")


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _sides(text: str, available: list[str]) -> Any:
    """Both sides of a formula, as formulaic reads them."""
    found: Any
    try:
        found = formulaic().Formula(text, _context={AVAILABLE: available})
        sides = found.lhs, list(found.rhs)
        del sides
    except DataError:
        raise
    except AttributeError as error:
        raise DataError(
            f"the formula {text!r:.80} must have one left and one right side; write y ~ x1 + x2."
        ) from error
    except Exception as error:  # formulaic has errors of its own
        said = COLOURS.sub("", str(error))
        raise DataError(f"the formula {text!r:.80} cannot be read ({said:.200}).") from error
    return found


def _target(side: Any, text: str) -> str:
    terms = list(side)
    if len(terms) != 1 or len(terms[0].factors) != 1:
        raise DataError(f"the left side of {text!r:.80} has not one column; write y ~ x1 + x2.")
    (factor,) = terms[0].factors
    categorical: list[str] = []
    name = _factor(factor, text, categorical)
    if categorical:
        raise DataError(f"C() stands on the left side of {text!r:.80}; --family binomial says it.")
    return name


def _term(term: Any, text: str, categorical: list[str]) -> Term:
    """Columns that are multiplied; those in C() are noted."""
    if not hasattr(term, "factors"):
        raise DataError(
            f"the formula {text!r:.80} must have one left and one right side; write y ~ x1 + x2."
        )
    return tuple(_factor(factor, text, categorical) for factor in term.factors)


def _factor(factor: Any, text: str, categorical: list[str]) -> str:
    """Name of a column, there or to be computed."""
    said, kind = str(factor.expr), factor.eval_method.value
    if kind == "lookup":
        return said
    if kind == "literal":
        raise DataError(f"the number {said:.20} in {text!r:.80}; I(2 * x) is a multiple of x.")
    if said.startswith("C("):
        found = CATEGORY.fullmatch(said)
        if found is None:
            raise DataError(
                f"{said!r:.60} in the formula; write C(name), and --reference name=LEVEL for the "
                "level that others are compared with."
            )
        name = found.group(1).strip("`")
        categorical.append(name)
        return name
    if "(" not in said:  # {a + b}
        said = f"I({said})"
    Expression(said)  # refuses what is no arithmetic
    return said
