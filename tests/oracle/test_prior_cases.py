"""The priors against figures computed with 40 digits (`cases.json`), which share no code with us.

Worst errors seen are 4e-13 (exact prior), 2e-14 (bounds) and 4e-15 (Gaussian paths). The limits
below are those of the specification, far tighter than any wrong term could be.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors import Exact, PathStats, Variational
from driftglm.priors.gaussian_path import posterior_inplace
from driftglm.priors.variational import gamma_shape

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())


def prior_id(case):
    return f"{case['shape']}-T{len(case['beta'])}-rate{case['tau']}"


def group_id(case):
    return f"{case['shape']}-T{case['T']}-{case['paths']}paths-{case['boundary']}-rate{case['tau']}"


def block_id(case):
    component = f"static{case['static']}-dynamic{case['dynamic']}-rho{case['rho']}"
    return f"T{len(case['h'])}-{component}-{CASES['block'].index(case)}"


each_prior_case = pytest.mark.parametrize("case", CASES["prior"], ids=prior_id)


def test_the_file_holds_the_cases_this_module_is_about():
    assert {name: len(cases) for name, cases in CASES.items()} == {
        "prior": 23,
        "block": 24,
        "groups": 24,
    }


@each_prior_case
def test_exact_prior_of_a_path(case):
    prior, paths = Exact(rate=case["tau"]), np.array([case["beta"]])
    omega, omega_alpha, mean_alpha = prior.expectations(paths)
    assert_allclose(prior.log_density(paths), case["log_marginal"], rtol=1e-9)
    assert_allclose(mean_alpha, case["mean_alpha"], rtol=1e-9)
    assert_allclose(omega, case["mean_inv_lambda"], rtol=1e-9)
    assert_allclose(omega_alpha, case["mean_alpha_over_lambda"], rtol=1e-9)


@each_prior_case
def test_path_statistics(case):
    stats = PathStats.of(np.array([case["beta"]]))
    # Sums of at most 30 products: nothing but rounding.
    assert_allclose(stats.S, case["S"], rtol=1e-13)
    assert_allclose(stats.R, case["R"], rtol=1e-13, atol=1e-14)


@each_prior_case
def test_paper_bound_of_a_path(case):
    prior, paths = Variational(rate=case["tau"], bound="paper"), np.array([case["beta"]])
    mean_alpha = prior.expectations(paths)[2]
    assert_allclose(prior.log_density(paths), case["paper_bound"], rtol=0, atol=1e-7)
    assert_allclose(mean_alpha, case["paper_mean_alpha"], rtol=0, atol=1e-4)
    # The oracle maximised a flat top, which fixes kappa to half the digits only.
    assert_allclose(prior.kappa(paths), case["paper_kappa"], rtol=1e-5)


@pytest.mark.parametrize("case", [c for c in CASES["prior"] if "elbo" in c], ids=prior_id)
def test_elbo_of_a_path(case):
    prior, paths = Variational(rate=case["tau"], bound="elbo"), np.array([case["beta"]])
    assert_allclose(prior.log_density(paths), case["elbo"], rtol=0, atol=1e-7)
    assert_allclose(prior.kappa(paths), case["elbo_kappa"], rtol=1e-5)


@each_prior_case
def test_gamma_shape_depends_on_the_number_of_timesteps(case):
    assert_allclose(gamma_shape(len(case["beta"])), case["gamma_shape"], rtol=1e-9)


@pytest.mark.parametrize("case", CASES["groups"], ids=group_id)
def test_exact_prior_of_tied_paths(case):
    stats = PathStats(*(np.array([case[name]]) for name in ("S", "R", "E")))
    prior = Exact(rate=case["tau"], boundary=case["boundary"])
    penalty = prior.evaluate(stats, case["T"], case["paths"])
    assert_allclose(penalty.log_density, case["log_marginal"], rtol=1e-9)
    assert_allclose(penalty.mean_alpha, case["mean_alpha"], rtol=1e-9)
    assert_allclose(penalty.omega, case["mean_inv_lambda"], rtol=1e-9)
    assert_allclose(penalty.omega_alpha, case["mean_alpha_over_lambda"], rtol=1e-9)


@pytest.mark.parametrize("case", CASES["block"], ids=block_id)
def test_gaussian_path_posterior(case):
    h, b = np.array(case["h"]), np.array(case["b"])
    out = np.full((3, h.size), np.nan)
    component = (case["static"], case["dynamic"], case["rho"])
    log_evidence, _ = posterior_inplace(h, b, component, out)
    # atol for means that are exactly zero (no data) and an evidence that is.
    assert_allclose(log_evidence, case["log_evidence"], rtol=1e-9, atol=1e-12)
    assert_allclose(out[0], case["mean"], rtol=1e-9, atol=1e-12)
    assert_allclose(out[1], case["variance"], rtol=1e-9)
    # atol: at rho = 0 and static = 0 neighbours are independent.
    assert_allclose(out[2, :-1], case["covariance_lag1"], rtol=1e-9, atol=1e-15)
    assert out[2, -1] == 0.0
