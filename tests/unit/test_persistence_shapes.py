"""What must agree inside records: kernels do not check it."""

from types import SimpleNamespace as Record

import numpy as np

from driftglm.families import BetaBinomial, Gaussian
from driftglm.persistence.shapes import agrees


def test_steps_of_rows_lie_on_the_axis():
    two = {"y": np.zeros(2), "family": Gaussian()}
    assert agrees("Rows", Record(codes=np.array([0, 2]), n_timesteps=3, **two))
    assert not agrees("Rows", Record(codes=np.array([0, 3]), n_timesteps=3, **two))
    assert not agrees("Rows", Record(codes=np.array([-1, 0]), n_timesteps=3, **two))
    none = {"y": np.zeros(0), "family": Gaussian()}
    assert agrees("Rows", Record(codes=np.array([], int), n_timesteps=0, **none))


def test_y_of_trials_has_two_columns():
    steps = {"codes": np.array([0, 2]), "n_timesteps": 3}
    assert agrees("Rows", Record(y=np.zeros((2, 2)), family=BetaBinomial(), **steps))
    for family, shape in ((BetaBinomial(), (2,)), (BetaBinomial(), (2, 3)), (Gaussian(), (2, 2))):
        assert not agrees("Rows", Record(y=np.zeros(shape), family=family, **steps))


def test_a_forecaster_has_a_positive_noise_for_every_step():
    fits = (Record(n_timesteps=2), Record(n_timesteps=2))
    assert agrees("Forecaster", Record(fits=fits, noise=np.ones(2), noise_path=None))
    assert not agrees("Forecaster", Record(fits=fits, noise=np.ones(3), noise_path=None))
    assert not agrees("Forecaster", Record(fits=fits, noise=np.array([1.0, 0.0]), noise_path=None))
    short = Record(mean=np.ones((5, 1)))
    assert not agrees("Forecaster", Record(fits=fits, noise=np.ones(2), noise_path=short))
    mixed = (Record(n_timesteps=2), Record(n_timesteps=3))
    assert not agrees("Forecaster", Record(fits=mixed, noise=np.ones(2), noise_path=None))


def test_components_have_the_steps_and_the_number_of_the_paths():
    def posterior(count, n_steps):
        components = Record(count=count, n_timesteps=n_steps)
        return Record(components=components, phi=np.ones((1, 1, 4)), mean=np.ones((1, 1, 3)))

    assert agrees("TextPosterior", posterior(4, 3))
    assert not agrees("TextPosterior", posterior(5, 3))
    assert not agrees("TextPosterior", posterior(4, 2))


def test_paths_intercepts_and_centers_have_the_same_steps():
    def mode(n_steps=3, n_center=3, n_shared=2):
        return Record(
            beta=np.ones((2, 3)),
            intercepts=Record(mean=np.ones((1, n_steps))),
            columns=Record(center=np.ones((n_center, 2))),
            shared=Record(mean=np.ones(n_shared)),
        )

    assert agrees("ModeFit", mode())
    assert not agrees("ModeFit", mode(n_steps=4))
    assert not agrees("ModeFit", mode(n_center=2))
    assert not agrees("ModeFit", mode(n_shared=1))
