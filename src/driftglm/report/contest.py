"""A comparison as the page takes it: who won, by how much, whether that is more than chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from driftglm._typing import FloatArray, IntArray
from driftglm.evaluation import Comparison
from driftglm.evaluation.comparison import SIGNIFICANT
from driftglm.evaluation.significance import usual_test
from driftglm.evaluation.tables import ranking
from driftglm.report.encode import number, significant
from driftglm.report.forecasts import forecasts

Parts = list[str | list[str]]
"""A sentence: text, and names that came from outside, each in a list of its own."""
DIGITS = 4


def contest(comparison: Comparison) -> dict[str, Any]:
    """The comparison's tables, headline and forecasts."""
    frame = comparison.table("frame")
    overall = frame.iloc[-1].to_numpy(dtype=np.float64)
    order = ranking(overall)
    tests = _tests(comparison, int(order[0]))
    ranks = comparison.ranks().iloc[-1].to_numpy(dtype=np.float64)
    return {
        "label": comparison.label,
        "models": [str(name) for name in comparison.models],
        "steps": [str(step) for step in comparison.steps],
        "values": [[number(v) for v in row] for row in frame.to_numpy(dtype=np.float64)],
        "digits": _digits(overall),
        "order": order.tolist(),
        "ranks": [number(v) for v in ranks],
        "seconds": [number(comparison.seconds.get(m, math.nan)) for m in comparison.models],
        "whole": _by_whole_steps(comparison),
        "p": [number(tests.get(k, (math.nan, 0.0))[0]) for k in range(len(order))],
        "favours": [number(tests.get(k, (0.0, 0.0))[1]) for k in range(len(order))],
        "nRows": int(comparison.rows.size),
        "headline": headline(comparison, overall, order, tests),
        "warnings": [
            [str(m), str(text)] for m, said in comparison.warnings.items() for text in said
        ],
        "forecasts": forecasts(comparison),
    }


def _digits(overall: FloatArray) -> int:
    """Digits after the point that show `DIGITS` significant ones of a typical value."""
    size = np.abs(overall[np.isfinite(overall) & (overall != 0)])
    if not size.size:
        return DIGITS
    return int(np.clip(DIGITS - math.ceil(math.log10(float(np.median(size)))), 0, 8))


def _by_whole_steps(comparison: Comparison) -> bool:
    """Whether tests count steps rather than rows."""
    return usual_test(comparison.weights, len(comparison.steps)) == "bootstrap"


def _tests(comparison: Comparison, best: int) -> dict[int, tuple[float, float]]:
    """By position of a model, Holm's p against the best, and whom the losses favour.

    Of rows, the second is positive if the signed ranks of the differences are on the best model's
    side: a lower mean can come from few rows while most rows are predicted better by the other.
    """
    names = comparison.models
    method = usual_test(comparison.weights, len(comparison.steps))
    frame: pd.DataFrame = comparison.significance(baseline=names[best], method=method)
    out, whole = {}, method == "bootstrap"
    for model, p in zip(frame["model"], frame["p_holm"], strict=True):
        difference = comparison.loss[model] - comparison.loss[names[best]]
        difference = difference[difference != 0]
        side = float(np.sign(difference) @ rankdata(np.abs(difference)))
        out[names.index(model)] = (float(p), 1.0 if whole else float(np.sign(side)))
    return out


def headline(
    comparison: Comparison,
    overall: FloatArray,
    order: IntArray,
    tests: dict[int, tuple[float, float]],
) -> Parts:
    """One to three sentences: who won, by how much, is it significant."""
    names, best = [str(name) for name in comparison.models], int(order[0])
    n_steps, label = len(comparison.steps), comparison.label
    over = f"over {n_steps} test steps" if n_steps > 1 else f"at step {comparison.steps[0]}"
    rows = f"{comparison.rows.size:,} rows"
    value = significant(float(overall[best]), DIGITS)
    if len(names) == 1 or not np.isfinite(overall[order[1]]):
        return [[names[best]], f" has a {label} of {value} {over} ({rows})."]
    second = int(order[1])
    gap, base = float(overall[second] - overall[best]), abs(float(overall[second]))
    if gap == 0:
        return [[names[best]], " and ", [names[second]], f" have the same {label}, {value} {over}."]
    share = f", {significant(100 * gap / base, 2)} % below " if base > 0 else ", ahead of "
    out: Parts = [[names[best]], f" has the lowest {label} {over} ({rows}): {value}{share}"]
    out += [[names[second]], ", the next best. "]
    out += _is_it_chance(comparison, best, second, tests)
    return out


def _is_it_chance(
    comparison: Comparison, best: int, second: int, tests: dict[int, tuple[float, float]]
) -> Parts:
    """Whether the lead is more than chance, by rows or by whole test steps."""
    names, (p, side) = comparison.models, tests[second]
    whole = _by_whole_steps(comparison)
    counted = "By whole test steps" if whole else "Row by row"
    others = [k for k in tests if k != second]
    n_beaten = sum(tests[k][0] < SIGNIFICANT and tests[k][1] > 0 for k in others)
    rest = f" It is significantly better than {_share(n_beaten, len(others))}." if others else ""
    if p >= SIGNIFICANT:
        return [f"{counted}, this difference is not significant ({_p(p)}).{rest}"]
    if side < 0:
        return [
            f"The losses differ significantly ({_p(p)}), but more of the rows favour ",
            [str(names[second])],
            f"; the lower mean comes from fewer, larger errors.{rest}",
        ]
    steps = "" if whole else _by_steps(comparison, names[best], names[second])
    return [f"{counted}, this difference is significant ({_p(p)}){steps}.{rest}"]


def _by_steps(comparison: Comparison, best: str, second: str) -> str:
    """What whole test steps say where they do not confirm what rows say; rows depend on others."""
    tests = comparison.significance(baseline=best, method="bootstrap")
    p = float(tests["p_value"][tests["model"] == second].iloc[0])
    return f"; by whole test steps it is not ({_p(p)})" if p >= SIGNIFICANT else ""


def _p(p: float) -> str:
    # Blanks at which a line may not break.
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.3f}"  # noqa: PLR2004


def _share(n: int, total: int) -> str:
    if n < total:
        return f"{n or 'none'} of the {total} others"
    return "the other model" if total == 1 else f"all {total} others"
