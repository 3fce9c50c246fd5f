"""How many rows and paths fit on a page."""

import base64
from dataclasses import replace

import numpy as np
import pytest

from driftglm.report.paths import PathRows
from driftglm.report.write import page

LIMIT = 8_000_000


def decode(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def many(names, n_steps):
    """Rows of so many features as there are names."""
    n = len(names)
    place = np.arange(n)
    return PathRows(
        noun="feature",
        group_noun=None,
        groups=[""],
        names=names,
        name=place,
        group=np.zeros(n, dtype=int),
        kind=np.ones(n, dtype=int),
        kinds=["zero", "static"],
        columns={key: place.astype(float) for key in ("first", "last", "next", "change")},
        path=np.zeros((n, n_steps)),
        limits=np.ones((2, n, n_steps)),
        steps=[str(t) for t in range(n_steps)],
    )


@pytest.mark.parametrize(
    ("letters", "n_steps", "all_rows", "all_paths"),
    [(20, 10, True, True), (20, 200, True, False), (500, 10, False, False)],
)
def test_ten_thousand_features_stay_below_the_limit(letters, n_steps, all_rows, all_paths):
    accents = "\u00e9" * (letters - 5)
    content = many([f"{i:05d}{accents}" for i in range(10_000)], n_steps).content()
    html = page({"title": "", "model": content}).encode()
    assert len(html) < LIMIT / (2 if all_paths else 1)
    assert (content["nRows"] == 10_000) == all_rows
    assert (content["nPaths"] == 10_000) == all_paths
    assert (content["leftOut"] == []) == all_paths
    assert decode(content["path"]).size == content["nPaths"] * n_steps
    assert content["nPaths"] > 300


def test_a_kind_is_counted_with_those_that_belong_to_it():
    rows = replace(
        many(list("abcdef"), 2),
        kind=np.array([0, 1, 2, 2, 3, 2]),
        kinds=["zero", "static", "drifting", "sign-flip"],
        members={"drifting": ("drifting", "sign-flip")},
    )
    counts = rows.content()["counts"]
    assert [(each["kind"], each["n"]) for each in counts] == [
        ("static", 1),
        ("drifting", 4),
        ("sign-flip", 1),
    ]
    assert counts[1]["codes"] == [2, 3]
