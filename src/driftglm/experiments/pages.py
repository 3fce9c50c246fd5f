"""A result as plain text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from driftglm.evaluation.tables import aligned, best_shown
from driftglm.experiments.result import OURS, VARIANTS, Reproduction, column_keys

TITLES = {
    "forecasting": "Volatility after annual reports, from their words",
    "text": "Words of documents, from source, place and economy",
}
TESTS = "Wilcoxon's tests of documents; of years: Diebold and Mariano's test of their means"
TOP_WORDS = "Largest coefficients, all years"
N_TOP = 12
_DIGITS = {"forecasting": 4, "text": 2}


def text_page(result: Reproduction) -> str:
    """All that the command prints: settings, tables, tests, words, notes."""
    parts = [heading(result)]
    for variant in result.comparisons:
        title = f"{VARIANTS[variant]}: {result.paper.label} (* best)"
        parts.append(_block(title, table_rows(result, variant)))
        parts.append(_block(TESTS, test_rows(result, variant)))
    parts.append(_block(TOP_WORDS, top_rows(result.top)))
    parts.append("\n".join(f"- {note}" for note in closing_notes(result)))
    return "\n\n".join(part for part in parts if part)


def _block(title: str, rows: list[list[str]]) -> str:
    """A title and a table; nothing if the table has a header only."""
    return "\n".join([title, *aligned(rows)]) if len(rows) > 1 else ""


def heading(result: Reproduction) -> str:
    """Title, years, words and what was read."""
    chosen = result.settings
    first, last = chosen.ranks or (0, 0)
    tests = ", ".join(map(str, chosen.test or ()))
    lines = [
        TITLES[result.name],
        f"words ranked {first:,} to {last:,}; dev year {chosen.dev}; test years {tests}",
        *map(str, result.provenance),
    ]
    return "\n".join(lines)


def table_rows(result: Reproduction, variant: str) -> list[list[str]]:
    """Header, a row a contestant, and the sizes; the best of our figures has a star."""
    frame = result.table(variant)
    keys = column_keys(frame)
    models = result.comparisons[variant].models
    cells = {key: _column(frame[key], models, result, key[1]) for key in keys}
    header = ["model", *(year if whose == OURS else "(paper)" for year, whose in keys)]
    rows = [[str(m), *(cells[key][k] for key in keys)] for k, m in enumerate(frame.index)]
    sizes = [result.paper.size, *(_size(result, variant, *key) for key in keys)]
    return [header, *rows, sizes]


def _column(values: pd.Series, models: list[str], result: Reproduction, whose: str) -> list[str]:
    """Cells of one column; of ours the best contestant has a star."""
    digits = _DIGITS[result.name] if whose == OURS else result.paper.digits
    shown = ["" if np.isnan(value) else f"{value:,.{digits}f}" for value in values]
    if whose != OURS:
        return shown
    best = set(np.asarray(models)[best_shown(values[models].to_numpy(), digits)])
    return [text + "*" * (name in best) for name, text in zip(values.index, shown, strict=True)]


def _size(result: Reproduction, variant: str, year: str, whose: str) -> str:
    known = result.sizes[variant] if whose == OURS else result.paper.sizes
    size = known[int(year)] if year.isdigit() else sum(known.values())
    return f"{size:,.0f}"


def test_rows(result: Reproduction, variant: str) -> list[list[str]]:
    """Header and a row a test; no row if there is nothing to test."""
    frame = result.significance(variant)
    rows = [["model", "against", "mean difference", "p", "p (Holm)", "p of years"]]
    for test in frame.to_dict("records"):
        difference = f"{test['mean_difference']:+.4g}"
        p_values = [f"{test[name]:.2g}" for name in ("p_value", "p_holm", "p_years")]
        rows.append([test["model"], test["other"], difference, *p_values])
    return rows


def top_rows(top: pd.DataFrame) -> list[list[str]]:
    """The frame of words as cells."""
    cells = [
        [f"{v:+.3f}" if isinstance(v, float) else str(v) for v in values]
        for values in top.itertuples(index=False)
    ]
    return [[str(name) for name in top.columns], *cells]


def closing_notes(result: Reproduction) -> list[str]:
    """What a reader must know to read the tables."""
    notes = []
    coincide = [year for year in result.settings.test or () if year in result.paper.figures]
    if coincide:
        notes.append(
            "the paper's adaptive prior stands beside exact, variational and learned; its figures "
            "for all test years are made of those of the years, without the dev year."
        )
        sizes = next(iter(result.sizes.values()))
        there, here = result.paper.sizes[coincide[0]], sizes[coincide[0]]
        if abs(there - here) > 0.01 * there:
            notes.append(
                f"not the paper's corpus: {here:,.0f} {result.paper.size} in {coincide[0]}, "
                f"{there:,.0f} in the paper. Compare models with each other, not with its figures."
            )
    else:
        notes.append("the paper has no figures for these test years.")
    notes.append(
        "a negative difference: better than the model tested against. Documents of one company or "
        "place are not independent of each other, so that p-values are too small."
    )
    return [*notes, *result.notes]
