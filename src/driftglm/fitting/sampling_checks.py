"""What cannot be sampled is refused, before anything is fitted."""

from __future__ import annotations

from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings
from driftglm.fitting.worker_rows import WorkerRows
from driftglm.priors import Learned
from driftglm.solvers.gibbs_rows import can_be_sampled, is_count, is_student

SAMPLED = (
    "gaussian",
    "student",
    "binomial",
    "poisson",
    "negative-binomial",
    "beta-binomial",
    "multinomial",
)
ELSE = "use inference='variational'"


def check_sampling(rows: Rows, family: Family, settings: Settings) -> None:
    """Raise a DataError where draws are asked for that there are none of."""
    if (sampling := settings.sampling) is None:
        return
    _check_prior(settings)
    if not can_be_sampled(family):
        raise DataError(
            f"inference='sampling' has no draws for family {family.name!r}; it has for "
            f"{', '.join(repr(name) for name in SAMPLED)}. Or {ELSE}."
        )
    if isinstance(rows, WorkerRows):
        raise DataError(
            "inference='sampling' visits one path after the other and these rows are on workers; "
            f"pass rows in memory, or {ELSE}."
        )
    if rows.group is not None and is_count(family):
        raise DataError(
            f"inference='sampling' has no draws of effects of groups for family {family.name!r}; "
            f"leave groups out (rows then count as independent), or {ELSE}."
        )
    if is_student(family) and not (rows.weights == 1.0).all():
        raise DataError(
            "inference='sampling' with Student errors takes every row once; leave sample_weight "
            f"out, or {ELSE}."
        )
    if any(not 0 <= i < rows.always_in.size for i in sampling.keep):
        raise DataError(
            f"keep={sampling.keep!r} of Sampling; pass positions of the {rows.always_in.size} "
            "columns, from 0."
        )


def _check_prior(settings: Settings) -> None:
    prior = settings.prior
    if not isinstance(prior, Learned):
        raise DataError(
            f"inference='sampling' needs the learned prior; with {type(prior).__name__} a fit is a "
            "posterior mode, without draws. Use prior='learned'."
        )
    if prior.weights is None and prior.prior_count == 0:
        raise DataError(
            "inference='sampling' needs a prior of the weights that is positive everywhere, and "
            "prior_count=0 of Learned is none; pass a number above 0, e.g. 3."
        )
    if prior.boundary != "stationary":
        raise DataError(
            f"inference='sampling' is for stationary chains and boundary={prior.boundary!r}; pass "
            f"boundary='stationary' to Learned, or {ELSE}."
        )
