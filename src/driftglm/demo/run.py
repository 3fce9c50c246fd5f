"""How does the world vote, and who changed? Seven models, ten years, one after the other."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from driftglm.baselines import RidgeTS
from driftglm.demo.votes import Ballots, ballots, features, load_votes, provenance
from driftglm.estimators import DriftClassifier
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.evaluation.comparison import SIGNIFICANT
from driftglm.report import Story, write_report
from driftglm.tables.comparing import BASELINES, contestants
from driftglm.tables.model import learned_sentence

DEV, TEST = 2009, tuple(range(2010, 2020))
MODELS = (*BASELINES, "exact", "learned")
CHAIN = RidgeTS(family="binomial", tol=0.01)
"""A tolerance of a thousandth takes five times as long, and losses agree to four digits."""
TITLE = "How does the world vote, and who changed?"
SENTENCE = (
    "Votes of the 19 countries of the G20 in the General Assembly of the United Nations, 1970 to "
    "2019: yes, or no and abstentions, by country and issue. Each year is predicted by models "
    "fitted to the years before it: learned is what driftglm does by default."
)
ISSUE = "Palestinian conflict"
CHANGED = ("United States", "Russia", "South Africa")
"""Countries of the first picture; chosen for what is known of them, not by any result."""
STORY = (
    "How often three countries voted yes when the United Nations voted on the Palestinian "
    "conflict: lines are what the learned model of all years says, with 90 % bands, circles what "
    "was seen. The United States: one vote in five in the seventies, next "
    "to none since 2004. Russia, until 1991 the Soviet Union: nearly all until 1990, one in five "
    "by 1994, four in five since 1996. South Africa, shut out from 1974 to 1994, came back another "
    "country: twice no before, nearly always yes since. Where nothing was seen, the line is dotted "
    "and the band is wide."
)
MARKS = {1991: "end of the Soviet Union", 1994: "end of apartheid"}


@dataclass(frozen=True)
class DemoResult:
    """What the demo found: the comparison, and the learned model of all years."""

    comparison: Comparison
    model: DriftClassifier
    rows: Ballots

    def sentence(self) -> str:
        """How many features matter to the learned model, and which of them drift."""
        return learned_sentence(pd.DataFrame(self.model.summary(feature_names=self.rows.names)))

    def rank(self) -> str:
        """Where the default stands, and from whom test years tell it; rows of a year do not count.

        Votes of a year depend on each other, so that a test of rows would be too sure of itself.
        """
        comparison = self.comparison
        overall = comparison.table("frame").iloc[-1].sort_values(kind="stable")
        place = overall.index.get_loc("learned") + 1
        rival = overall.index[1 if place == 1 else 0]
        away = 100 * (overall["learned"] / overall[rival] - 1)
        years = comparison.significance("learned", method="bootstrap")
        close = [
            f"{model} (p {p:.2g})"
            for model, p in zip(years["model"], years["p_holm"], strict=True)
            if p >= SIGNIFICANT
        ]
        told = f"all but {', '.join(close)}" if close else "all others"
        return (
            f"The default, learned, has rank {place} of {len(overall)}: {overall['learned']:.4f}, "
            f"{abs(away):.1f} % {'below' if away < 0 else 'above'} {rival}. The "
            f"{len(comparison.steps)} test years tell it from {told} at the 5 % level (bootstrap "
            "of whole years, Holm-corrected)."
        )


def run_demo(
    *,
    n_jobs: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> DemoResult:
    """Compare the learned and the exact prior with the five baselines, then fit all years.

    Settings are those of `driftglm.evaluation.compare` and of the estimators: baselines are tuned
    on 2009, drift models not at all. The learned prior goes on from year to year (`warm_start`).
    """
    rows = ballots(load_votes())
    model = contestants(("learned",), "binomial")["learned"]
    # Made by one of the processes while others compare.
    of_all = Parallel(n_jobs=n_jobs, return_as="generator")([delayed(_fit_quietly)(model, rows)])
    comparison = compare(
        contestants(MODELS, "binomial") | {"ridge-ts": CHAIN},
        *(rows.X, rows.y, rows.year),
        RollingOrigin(dev=DEV, test=list(TEST)),
        sample_weight=rows.weights,
        feature_names=rows.names,
        n_jobs=n_jobs,
        cache_dir=cache_dir,
        warm_start=True,
        verbose=verbose,
    )
    return DemoResult(comparison, cast("DriftClassifier", next(of_all)), rows)


def _fit_quietly(model: BaseEstimator, rows: Ballots) -> BaseEstimator:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows.X, rows.y, time=rows.year, sample_weight=rows.weights)


def story(result: DemoResult) -> Story:
    """Three countries on one issue: what the model says, and what was seen."""
    table = load_votes()
    about = table[(table["issue"] == ISSUE) & table["country"].isin(CHANGED)]
    shares = (about["yes"] / about["votes"]).set_axis(
        pd.MultiIndex.from_frame(about[["country", "year"]])
    )
    years = pd.Index(result.model.timesteps_)
    observed = [shares[country].reindex(years).to_numpy(dtype=np.float64) for country in CHANGED]
    rows = pd.DataFrame({"country": CHANGED, "issue": ISSUE})
    return Story(
        title="Who changed? Votes on the Palestinian conflict",
        what="share of yes votes",
        names=CHANGED,
        rows=features(rows).toarray(),
        observed=np.array(observed),
        caption=STORY,
        marks=MARKS,
    )


def write_demo_report(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """The demo's page."""
    return write_report(
        Path(path),
        model=result.model,
        comparison=result.comparison,
        title=TITLE,
        sentence=SENTENCE,
        settings={"data": provenance()["built_from"]},
        feature_names=result.rows.names,
        story=story(result),
    )
