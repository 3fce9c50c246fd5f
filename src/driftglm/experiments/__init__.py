"""The two experiments of the paper, run on corpora the user has."""

from driftglm.experiments.forecasting import reproduce_forecasting
from driftglm.experiments.result import Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.text import reproduce_text

__all__ = ["Reproduction", "Settings", "reproduce_forecasting", "reproduce_text"]
