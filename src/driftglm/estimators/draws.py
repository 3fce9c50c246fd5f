"""Draws of the joint posterior, from an estimator fitted with `inference="sampling"`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, IntArray, Matrix, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.data.timesteps import Labels
from driftglm.diagnostics.chains import LEAST, effective_draws, r_hat
from driftglm.estimators.levels import normal_quantile
from driftglm.estimators.said import stacked
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, DriftError
from driftglm.families import Family
from driftglm.fitting.fits import Fit
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.reading import exposure_of, trials_of
from driftglm.fitting.row_draws import Chosen, drawn_classes, effect_draws, eta_draws
from driftglm.fitting.sampled import SampledFit
from driftglm.plots.labels import Names, feature_names_of
from driftglm.solvers.sampling import Sampling

LARGEST_RATIO, LEAST_EFFECTIVE = 1.05, 100.0
"""An R-hat above, or fewer effective draws than this, and the chains have not met."""
N_NAMED = 3
HALF = 0.5


def sampling_of(inference: str | Sampling) -> Sampling | None:
    """How to sample, or None."""
    if isinstance(inference, Sampling):
        return inference
    return Sampling() if inference == "sampling" else None


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """A seed of draws: 0 unless something is given, so that a fit can be made again."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state)


class JointDraws:
    """Mixin: what is read from draws."""

    family_: Family
    classes_: np.ndarray
    timesteps_: Labels
    n_features_in_: int

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    @property
    @abstractmethod
    def _holds(self) -> bool: ...

    @abstractmethod
    def _read_new(self, X: MatrixLike, time: VectorLike) -> tuple[Matrix, IntArray | int]: ...

    @property
    @abstractmethod
    def _fits(self) -> tuple[Fit, ...]: ...

    @abstractmethod
    def _group_numbers(self, groups: VectorLike, n_rows: int) -> IntArray | None: ...

    def _sampled(self) -> tuple[SampledFit, ...]:
        """The responses, which were sampled; more than one of several classes."""
        check_is_fitted(self, "coef_path_")
        fits = tuple(fit for fit in self._fits if isinstance(fit, SampledFit))
        if not fits:
            raise DataError(
                "this model has no draws of its coefficients; fit it with inference='sampling'."
            )
        return fits

    def coef_band(self, level: float = 0.9) -> FloatArray:
        """Simultaneous bands: (2, T, p), lower and upper; of several classes (2, T, n_classes, p).

        A band holds the whole path of its feature with probability `level`; `coef_interval` says so
        of single steps only. Needs draws.
        """
        normal_quantile(level)  # checks the level
        return stacked([fit.band(level) for fit in self._sampled()], axis=2)

    def sampling_summary(self, feature_names: Names = None) -> pd.DataFrame:
        """One row a feature that is in often enough to tell: its `r_hat` and `effective_draws`.

        The largest R-hat and the least number of effective draws over its steps, of bulk and tails.
        The last rows are the noise and the number of features that are in. Of several classes a
        column `class` comes first.
        """
        fits = self._sampled()
        names = feature_names_of(self, self.n_features_in_, feature_names)
        tables = [_agreement(fit, names) for fit in fits]
        if len(tables) == 1:
            return tables[0]
        for label, table in zip(self.classes_, tables, strict=True):
            table.insert(0, "class", label)
        return pd.concat(tables, ignore_index=True)

    def to_arviz(self, feature_names: Names = None) -> Any:
        """The draws as an xarray DataTree, as ArviZ 1 takes them.

        Group `posterior`: coef (chain, draw, time, feature) of the features kept in full, intercept
        (chain, draw, time), noise, n_included; of several classes the third dimension is `class`.
        Group `sample_stats` holds nothing but the seed, as an attribute: draws of Gibbs sweeps have
        no step sizes. Needs xarray, the extra ``driftglm[xarray]``.
        """
        fits = self._sampled()
        try:
            import xarray as xr
        except ImportError as error:
            raise DriftError(
                "to_arviz needs xarray 2024.10 or newer; install driftglm[xarray]."
            ) from error
        if not hasattr(xr, "DataTree"):
            raise DriftError("to_arviz needs xarray 2024.10 or newer; install driftglm[xarray].")
        names = feature_names_of(self, self.n_features_in_, feature_names)
        labels: Any = self.timesteps_
        if isinstance(labels, pd.PeriodIndex):
            labels = labels.to_timestamp()
        fit, draws = fits[0], fits[0].draws
        n_chains, n_draws = draws.paths.shape[:2]
        coords = {
            "chain": np.arange(n_chains),
            "draw": np.arange(n_draws),
            "time": np.asarray(labels),
            "feature": np.array([names[i] for i in fit.kept()], dtype=object),
        }
        lead: tuple[str, ...] = ("chain", "draw")
        if len(fits) > 1:
            coords["class"], lead = self.classes_, (*lead, "class")

        def all_of(each: list[FloatArray]) -> FloatArray:
            return each[0] if len(each) == 1 else np.stack(each, axis=2)

        data = {
            "coef": ((*lead, "time", "feature"), all_of([fit.path_draws() for fit in fits])),
            "intercept": ((*lead, "time"), all_of([fit.intercept_draws() for fit in fits])),
            "n_included": (lead, all_of([fit.draws.n_included for fit in fits])),
        }
        if self.family_.has_noise:
            data["noise"] = ((*lead, "time"), draws.noise)
        if self.family_.shape_range is not None:
            data["shape"] = (lead, draws.shape)
        posterior = xr.Dataset(data, coords=coords)
        stats = xr.Dataset(attrs={"seed": draws.seed, "sampler": "Gibbs"})
        return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})

    def _joint_predictions(
        self,
        X: MatrixLike,
        n_draws: int,
        time: VectorLike,
        given: tuple[VectorLike, VectorLike, VectorLike],
        random_state: int | None,
    ) -> np.ndarray:
        """(n_draws, n_rows) of y; `given` are exposure, trials and groups."""
        exposure, trials, groups = given
        if not isinstance(n_draws, Integral) or isinstance(n_draws, bool) or n_draws < 1:
            raise DataError(f"n_draws={n_draws!r}; pass a whole number, 1 or more.")
        rows, codes = self._read_new(X, time)
        rng, family = np.random.default_rng(random_state), self.family_
        chosen = Chosen.of(self._forecaster, int(n_draws), rng, hold=self._holds)
        drawn = [
            eta_draws(self._forecaster, (rows, codes), chosen, rng, response)
            for response in range(len(self._fits))
        ]
        if (numbers := self._group_numbers(groups, rows.shape[0])) is not None:
            given_effects = self._forecaster, numbers, codes, int(n_draws), rng
            for each, effects in zip(drawn, effect_draws(*given_effects), strict=True):
                each[0][:] += effects
        if len(drawn) > 1:
            return drawn_classes(np.stack([eta for eta, _, _ in drawn], axis=2), rng)
        if (number := trials_of(trials, rows.shape[0])) is not None:
            family = family.with_trials(number)
        added, certain = exposure_of(family, exposure, rows.shape[0]), np.zeros(rows.shape[0])
        out = np.empty((int(n_draws), rows.shape[0]))
        for s, (eta, noise, shape) in enumerate(zip(*drawn[0], strict=True)):
            law = family.at(noise, float(shape)).predictive(eta + added, certain, noise)
            out[s] = law.draws(1, int(rng.integers(2**31)))[0]
        return out

    def _warn_of_draws(self) -> None:
        """Say where chains have not met, and where somebody interrupted them."""
        fit = self._fits[0]
        if not isinstance(fit, SampledFit):
            return
        draws = fit.draws
        if not draws.complete:
            made = draws.paths.shape[1]
            warn(
                f"sampling was interrupted: {made} of {draws.asked[1]} draws a chain were made and "
                "are used.",
                ConvergenceWarning,
            )
        if draws.paths.shape[1] < LEAST:
            warn(
                f"{draws.paths.shape[1]} draws a chain say nothing of whether chains agree, and "
                "next to nothing of coefficients; draw more (Sampling(draws=...)).",
                ConvergenceWarning,
            )
            return
        _warn_of_room(self._sampled())
        table = self.sampling_summary()
        poor = table[
            (table["r_hat"] > LARGEST_RATIO) | (table["effective_draws"] < LEAST_EFFECTIVE)
        ]
        if poor.empty:
            return
        worst = poor.sort_values("effective_draws")
        named = ", ".join(map(str, worst["what"].head(N_NAMED)))
        warn(
            f"{len(poor)} of {len(table)} sampled quantities have an R-hat above {LARGEST_RATIO} "
            f"(largest {poor['r_hat'].max():.2f}) or fewer than {LEAST_EFFECTIVE:.0f} effective "
            f"draws (least {poor['effective_draws'].min():.0f}), among them {named}; draw more "
            "(Sampling(draws=...)), or read what concerns them with care.",
            ConvergenceWarning,
        )


def _warn_of_room(fits: Sequence[SampledFit]) -> None:
    """Say where features that are in had no room for their draws."""
    inclusion = np.max([fit.inclusion() for fit in fits], axis=0)
    inclusion[fits[0].kept()] = 0.0
    if missing := int(np.count_nonzero(inclusion > HALF)):
        warn(
            f"there is no room for whole draws of {missing} features that are in: their intervals "
            "and bands are those of a normal distribution, as if independent of all else. Raise "
            "max_megabytes of Sampling, or thin: thin=5 with a fifth of the draws takes a fifth.",
            DataWarning,
        )


def _agreement(fit: SampledFit, names: np.ndarray | Sequence[str]) -> pd.DataFrame:
    """Of one response."""
    ratio, effective = fit.compared()
    kept = np.flatnonzero(np.isfinite(ratio))
    table = pd.DataFrame(
        {
            "what": [names[int(i)] for i in kept],
            "r_hat": ratio[kept],
            "effective_draws": effective[kept],
        }
    )
    return pd.concat([table, _global_rows(fit)], ignore_index=True)


def _global_rows(fit: SampledFit) -> pd.DataFrame:
    """R-hat and effective draws of what all features share."""
    parts = {"noise": fit.draws.noise[..., 0], "features in": fit.draws.n_included}
    rows = [
        {"what": name, "r_hat": r_hat(draws), "effective_draws": min(effective_draws(draws))}
        for name, draws in parts.items()
        if np.ptp(draws) > 0
    ]
    return pd.DataFrame(rows, columns=["what", "r_hat", "effective_draws"])
