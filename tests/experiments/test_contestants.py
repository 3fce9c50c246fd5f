"""The contestants of both experiments."""

from driftglm.baselines import LassoAll
from driftglm.experiments.contestants import regressor, text_model, to_show
from driftglm.experiments.paper import DRIFT, FORECASTING_RATE, TEXT_RATE
from driftglm.priors import Exact, Variational


def test_the_papers_priors_have_the_rate_of_their_experiment():
    assert regressor("exact", [0]).prior == Exact(rate=FORECASTING_RATE)
    assert text_model("variational").prior == Variational(rate=TEXT_RATE)
    assert regressor("learned", [0]).prior == "learned"
    assert regressor("learned", [3]).always_in == [3]


def test_baselines_keep_what_is_always_in_or_are_of_text():
    model = regressor("lasso-all", [2])
    assert type(model) is LassoAll
    assert model.always_in == [2]
    assert text_model("lasso-all").family == "text"


def test_the_last_drift_model_there_is_is_shown():
    assert to_show(("lasso-all",)) is None
    assert to_show((DRIFT[-1], "lasso-all", DRIFT[0])) == DRIFT[-1]
    assert to_show((DRIFT[0], "lasso-all")) == DRIFT[0]
