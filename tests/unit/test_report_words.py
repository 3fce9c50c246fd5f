"""Rows of a page from a text model: the best words of every effect."""

import base64

import numpy as np

from driftglm import DriftTextModel
from driftglm.report.words import word_rows
from driftglm.report.write import page

LIMIT = 8_000_000


def decode(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


class BigTextModel(DriftTextModel):
    """A fitted text model of any size, without the time to fit one."""

    def __init__(self, *, shape=(10, 50, 5000)):
        super().__init__()
        self.shape = shape

    def grow(self):
        rng = np.random.default_rng(0)
        n_steps, n_effects, n_words = self.shape
        self.coef_path_ = rng.normal(size=self.shape)
        self.inclusion_probability_ = rng.random((n_effects, n_words))
        self.vocabulary_ = np.array([f"some word {j}" for j in range(n_words)], dtype=object)
        self.base_background_ = np.zeros((n_steps, n_words))
        self.timesteps_, self.n_features_in_ = np.arange(n_steps), n_effects
        self.n_contexts_, self.n_iter_, self.converged_ = 1, 1, True
        self.stop_reason_, self.objective_history_ = "converged", np.zeros(1)
        return self

    @property
    def coef_std_path_(self):
        return np.abs(self.coef_path_)


def test_a_large_text_model_keeps_the_best_words_of_every_effect_and_says_so():
    model = BigTextModel().grow()
    part = word_rows(model).content()
    assert len(page({"title": "", "model": part}).encode()) < LIMIT
    assert 10_000 < part["nPaths"] < 250_000
    assert str(f"{part['nPaths']:,}") in " ".join(part["leftOut"])
    shares = np.bincount(decode(part["group"], "<i4")[: part["nPaths"]], minlength=50)
    assert shares.max() - shares.min() <= 1
    chosen = model.inclusion_probability_ >= 0.5
    assert part["included"] == chosen.sum()
    assert decode(part["kind"], "<i4")[:500].all()
