"""What columns that mean the same in both are called when a level of a factor is dropped.

With and without the rule that near copies are undecided where nothing tells which of them it is.
"""

import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd

from driftglm import DriftRegressor

RULE = "driftglm.estimators.statements.not_told_apart"


def with_near_copy(seed, apart):
    """X, y, time: a factor of eight levels, and two columns that are `apart` of their spread.

    One of three seeds has an effect of the second, too; in every other one that of the first moves.
    """
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(8), 150)
    level, walk = rng.integers(0, 8, time.size), rng.normal(size=8).cumsum() * 0.15 * (seed % 2)
    first = rng.normal(size=time.size) + 0.13 * (level - 3.5)
    second = first + apart * first.std() * rng.normal(size=time.size)
    effects = 0.4 * rng.normal(size=8) * (rng.random(8) < 0.5)
    eta = effects[level] + (0.2 + walk)[time] * first + 0.15 * second * (seed % 3 == 0)
    X = pd.DataFrame({"first": first, "second": second, "other": rng.normal(size=time.size)})
    X = X.join(pd.get_dummies(pd.Series(level), prefix="level", dtype=float))
    return X, eta + rng.normal(size=time.size), time


def kinds(X, y, time):
    """Kinds with the rule and without."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    said = model.summary()
    with patch(RULE, lambda inclusion, *_: np.zeros(inclusion.size, dtype=bool)):
        before = model.summary()
    return pd.DataFrame({name: table.set_index("feature")["kind"].reindex(X.columns)
                         for name, table in {"now": said, "before": before}.items()})  # fmt: skip


def told(X, y, time, drops, factor_of):
    """How many columns are compared and differ, and how many are undecided with all levels.

    `drops` are lists of levels that go together; `factor_of` says which factor a column is of.
    """
    whole = kinds(X, y, time)
    row = {"columns": 0, "differ": 0, "differ, without": 0}
    for gone in drops:
        found = kinds(X.drop(columns=gone), y, time)
        factors = {factor_of(column) for column in gone}
        same = [column for column in found.index if factor_of(column) not in factors]
        apart = found.loc[same] != whole.loc[same]
        row["columns"] += len(same)
        row["differ"] += int(apart["now"].sum())
        row["differ, without"] += int(apart["before"].sum())
    undecided = (whole == "undecided").sum()
    row |= {"undecided": undecided["now"], "undecided, without": undecided["before"]}
    return row | {"of": len(whole)}
