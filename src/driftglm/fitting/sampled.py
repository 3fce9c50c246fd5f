"""A fit whose posterior was sampled: the same questions as of any fit, answered by draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.diagnostics.chains import effective_draws, r_hat
from driftglm.fitting.coefficients import SharedFit, Step
from driftglm.fitting.draws import Draws
from driftglm.fitting.fits import Moments, PosteriorFit
from driftglm.fitting.group_effects import DrawnEffects
from driftglm.objective import Bound, Posterior
from driftglm.solvers.sampling import Record, Sampling, sample_classes

TOLD = 0.05
"""Of features that are in more rarely, chains have next to nothing to agree on."""
N_STEPS = 5
"""Steps at which chains are compared, at most."""


@dataclass(frozen=True)
class SampledFit(PosteriorFit):
    """A posterior with draws.

    Means, variances and component probabilities are those of the draws. Curvatures and linear terms
    are those of the variational fit, from which intercepts are forecast. `agreement` (2, p) is the
    largest R-hat and the least number of effective draws over steps, NaN of features next to never
    in.
    """

    draws: Draws = dataclasses.field(kw_only=True)
    agreement: FloatArray | None = None

    # ------------------------------------------------------------ coefficients

    def compared(self) -> FloatArray:
        """(2, p) R-hat and effective draws; NaN where nothing is known."""
        nothing = np.full((2, self.columns.always_in.size), np.nan)
        return nothing if self.agreement is None else self.agreement

    def kept(self) -> IntArray:
        """Columns of X whose draws are kept in full, in the order of `path_draws`."""
        always_in = self.columns.always_in
        paths = np.flatnonzero(~always_in)[self.draws.features]
        return np.concatenate([paths, np.flatnonzero(always_in)])

    def path_draws(self) -> FloatArray:
        """(C, S, T, n) coefficients of the `kept` columns at every training step."""
        draws = self.draws
        paths = draws.paths.astype(np.float64).transpose(0, 1, 3, 2)
        paths = paths + self._shared_draws(draws.features)[:, :, None, :]
        own = draws.intercepts[:, :, int(self.columns.has_intercept) :]
        return np.concatenate([paths, own.transpose(0, 1, 3, 2)], axis=3)

    def intercept_draws(self) -> FloatArray:
        """(C, S, T) intercept at x = 0; what is not kept in full counts with its mean."""
        draws, columns = self.draws, self.columns
        kept = self.kept()
        rest = self._others(self.beta, kept)
        moved = np.einsum("cstn,tn->cst", self.path_draws(), columns.center[:, kept])
        moved += np.einsum("pt,tp->t", rest, columns.center)
        at_center = draws.intercepts[:, :, 0] if columns.has_intercept else np.zeros(moved.shape)
        return np.asarray(columns.target_center + at_center - moved)

    def _others(self, paths: FloatArray, kept: IntArray) -> FloatArray:
        """(p, T) means of the columns that are not kept in full, zero for the others."""
        found = self.columns.arrange(
            paths + self.shared.mean[:, None], self.intercepts.mean
        ).T.copy()
        found[kept] = 0.0
        return found

    def _shared_draws(self, features: IntArray) -> FloatArray:
        """(C, S, n) what the shared directions give some paths."""
        return np.asarray(np.einsum("csr,ir->csi", self.draws.shared, self.draws.basis[features]))

    def limits(self, level: float) -> FloatArray:
        """(2, T, p) quantiles of the draws; where none are kept, of a normal distribution."""
        return self._limits(level, None)

    def band(self, level: float) -> FloatArray:
        """(2, T, p) a band that holds a whole path with probability `level`.

        As many standard deviations about the mean at every step as the largest deviation of a path
        reaches with that probability, for upper and lower side alike.
        """
        draws = self.path_draws().reshape(self.draws.count, self.n_timesteps, -1)
        mean, deviation = draws.mean(axis=0), draws.std(axis=0)
        safe = np.where(deviation > 0, deviation, 1.0)
        reach = np.quantile((np.abs(draws - mean) / safe).max(axis=1), level, axis=0)
        return self._limits(level, np.stack([mean - reach * deviation, mean + reach * deviation]))

    def _limits(self, level: float, found: FloatArray | None) -> FloatArray:
        """Limits of the columns kept in full, put among those of all."""
        mean, deviation = self.coef_path(), self.std_path()
        tail = 0.5 * (1.0 - level)
        # A band of T independent steps, where it is one.
        each = tail if found is None else 0.5 * (1.0 - level ** (1.0 / self.n_timesteps))
        reach = float(ndtri(1.0 - each)) * deviation
        out = np.stack([mean - reach, mean + reach])
        if found is None:
            draws = self.path_draws().reshape(self.draws.count, self.n_timesteps, -1)
            found = np.quantile(draws, [tail, 1.0 - tail], axis=0)
        out[:, :, self.kept()] = found
        return out

    def change_limits(self, ends: IntArray, level: float) -> FloatArray:
        """(2, p) quantiles of the difference between two steps, (2, p), of every column."""
        out, kept, tail = np.zeros((2, ends.shape[1])), self.kept(), 0.5 * (1.0 - level)
        draws = self.path_draws().reshape(self.draws.count, self.n_timesteps, -1)
        n = np.arange(kept.size)
        change = draws[:, ends[1, kept], n] - draws[:, ends[0, kept], n]
        out[:, kept] = np.quantile(change, [tail, 1.0 - tail], axis=0)
        return out

    # ------------------------------------------------------------------- steps

    def at(self, code: int) -> Step:
        """A step inside the training data or after it (code >= T: forecast)."""
        if code >= self.n_timesteps:
            return self.ahead(code - self.n_timesteps + 1)
        draws = self.draws
        paths = draws.flat(draws.paths[..., code])
        own = draws.flat(draws.intercepts[..., code])
        variance = self.variance[:, code].copy()
        variance[draws.features] = 0.0
        first = self.beta[:, code], variance
        step = self._step(first, (self.intercepts.mean[:, code], 0.0 * own[0]), self._center(code))
        return self._joined(step, paths, own)

    def ahead(self, n_steps: int) -> Step:
        """Forecast `n_steps` after the last training step."""
        mean, own = self._after(n_steps)
        paths, variance = self._forecast_paths(n_steps)
        variance = variance.copy()
        variance[self.draws.features] = own.mean(axis=0)
        intercepts = self._forecast_intercepts(n_steps)
        step = self._step((paths, variance), intercepts, self._center_ahead(n_steps))
        return self._joined(step, mean, None)

    def held(self, n_steps: int, ahead: Step | None = None) -> Step:
        """The last step's coefficients held, with the forecast's uncertainty."""
        ahead = self.ahead(n_steps) if ahead is None else ahead
        return dataclasses.replace(super().held(n_steps, ahead), joint_offset=ahead.joint_offset)

    def _center(self, code: int) -> FloatArray:
        return np.asarray(self.columns.center[code])

    def _joined(self, step: Step, paths: FloatArray, own: FloatArray | None) -> Step:
        """A step whose coefficients, and intercepts `own` (C S, L), vary together as the draws do.

        Without `own` the intercepts keep a variance of their own.
        """
        draws, columns = self.draws, self.columns
        shared = draws.flat(draws.shared)
        n_own = 0 if own is None else own.shape[1]
        parts = [paths, shared] if own is None else [paths, shared, own]
        together = np.concatenate(parts, axis=1)
        root = _root(together - together.mean(axis=0))
        m, n_shared = paths.shape[1], shared.shape[1]
        joint = np.zeros((columns.always_in.size, root.shape[1]))
        of_paths = draws.basis @ root[m : m + n_shared]
        of_paths[draws.features] += root[:m]
        joint[~columns.always_in] = of_paths
        offset = step.center @ joint
        if own is not None:
            first = int(columns.has_intercept)
            joint[columns.always_in] = root[m + n_shared + first :]
            offset = step.center @ joint
            if first and n_own:
                offset = offset - root[m + n_shared]
        return dataclasses.replace(step, joint=joint, joint_offset=offset)

    def _after(self, n_steps: int) -> Moments:
        """(C S, m) mean and variance of every draw of the paths kept, after the last step."""
        draws, components = self.draws, self.components
        dynamic = components.dynamic[:, None] / self.unit[draws.features] ** 2
        return draws.after(n_steps, components.rho, dynamic)

    def _forecast_paths(self, n_steps: int) -> Moments:
        """Of paths kept in full any number of steps ahead; of others as one step ahead."""
        draws = self.draws
        mean, variance = draws.ahead.T.copy()
        each, own = self._after(n_steps)
        mean[draws.features] = each.mean(axis=0)
        variance[draws.features] = each.var(axis=0) + own.mean(axis=0)
        return mean, variance

    # ------------------------------------------------------------------- draws

    def others_at(self, code: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(p,) mean, variance and center of the coefficients that are not kept in full."""
        n_ahead, kept = code - self.n_timesteps + 1, self.kept()
        if n_ahead <= 0:
            mean, variance = self.beta[:, code], self.variance[:, code]
            center = self._center(code)
        else:
            mean, variance = self._forecast_paths(n_ahead)
            center = self._center_ahead(n_ahead)
        nothing = np.zeros(self.intercepts.scale.size)
        found = self.columns.per_feature(mean + self.shared.mean, nothing)
        spread = self.columns.per_feature(variance + self.shared.variance, nothing)
        found[kept] = spread[kept] = 0.0
        return found, spread, center

    def eta_draws(
        self,
        X: FloatArray,
        others: tuple[FloatArray, FloatArray],
        code: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """(C S, n_rows) linear predictor of some rows at a step, all with the same coefficients.

        `X` are the columns of `kept`, `others` mean and variance of what all else contributes.
        """
        draws, columns = self.draws, self.columns
        kept, first = self.kept(), int(columns.has_intercept)
        n_ahead = code - self.n_timesteps + 1
        if n_ahead <= 0:
            coef = self.path_draws()[:, :, code].reshape(draws.count, -1)
            at_center = draws.flat(draws.intercepts[..., code])[:, :first].sum(axis=1)
            center = self._center(code)
        else:
            coef = self.continued_draws(n_ahead, rng)[:, -1]
            mean, variance = self._forecast_intercepts(n_ahead)
            level = rng.standard_normal((draws.count, mean.size))
            at_center = (mean + np.sqrt(variance) * level)[:, :first].sum(axis=1)
            center = self._center_ahead(n_ahead)
        eta = (X - center[kept]) @ coef.T + columns.target_center + at_center
        middle, spread = others
        own = np.sqrt(spread) * rng.standard_normal((draws.count, X.shape[0]))
        return np.asarray(eta.T + middle + own)

    def continued_draws(self, n_more: int, rng: np.random.Generator) -> FloatArray:
        """(C S, T + n_more, n) coefficients of the `kept` columns, steps after the last included.

        Always-in columns are forecast one by one.
        """
        draws, components = self.draws, self.components
        known = self.path_draws().reshape(draws.count, self.n_timesteps, -1)
        out = np.concatenate([known, np.zeros((draws.count, n_more, known.shape[2]))], axis=1)
        m, first = draws.features.size, int(self.columns.has_intercept)
        k = draws.component.reshape(draws.count, m)
        rho, unit = components.rho[k], self.unit[draws.features]
        shock = components.dynamic[k] / unit**2 * (1.0 - rho**2)
        flat = draws.flat(draws.static)
        state = draws.flat(draws.paths[..., -1]) - flat
        shared = draws.flat(self._shared_draws(draws.features))
        for n in range(n_more):
            state = rho * state + np.sqrt(shock) * rng.standard_normal(state.shape)
            out[:, self.n_timesteps + n, :m] = flat + state + shared
            mean, variance = self._forecast_intercepts(n + 1)
            level = rng.standard_normal((draws.count, mean.size))
            own = mean + np.sqrt(variance) * level
            out[:, self.n_timesteps + n, m:] = own[:, first:]
        return out


def _root(draws: FloatArray) -> FloatArray:
    """(n, r) a square root of the covariance of centred draws (S, n)."""
    count, n = draws.shape
    if n > count:
        return np.asarray(draws.T / np.sqrt(count))
    with one_thread():  # the same digits on any number of threads
        values, vectors = np.linalg.eigh(draws.T @ draws / count)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def sampled(
    fits: Sequence[PosteriorFit],
    ends: tuple[Sequence[Bound], Sequence[Posterior]],
    sampling: Sampling,
    how: tuple[int, int, bool],
) -> list[tuple[SampledFit, DrawnEffects | None]]:
    """Variational fits of all classes, sampled, with the effects of groups where there are any.

    `how` is the seed, the threads and whether to show progress.
    """
    always_in = fits[0].columns.always_in
    places = np.cumsum(~always_in) - 1
    keep = tuple(int(places[i]) for i in sampling.keep if not always_in[i])
    found = sample_classes(*ends, dataclasses.replace(sampling, keep=keep), how)
    parts = zip(fits, ends[0], found, strict=True)
    return [_with_records(*part, sampling, how[0]) for part in parts]


def _with_records(
    fit: PosteriorFit, bound: Bound, records: Sequence[Record], sampling: Sampling, seed: int
) -> tuple[SampledFit, DrawnEffects | None]:
    """The fit of one class, from the records of its chains."""
    total = sum(record.done for record in records)
    mean = sum(record.first for record in records)[:, :-1] / total  # type: ignore[index]
    square = sum(record.second for record in records)[:, :-1] / total  # type: ignore[index]
    phi = sum(record.phi for record in records) / total
    basis = np.zeros((len(fit.beta), 0)) if bound.shared is None else bound.shared.basis
    draws = Draws.of(records, basis, sampling, seed)
    own = draws.flat(draws.intercepts)
    moves = [record.others["dynamics"][: record.done] > 0 for record in records]
    dynamics = fit.intercepts.dynamics.copy()
    if not fit.intercepts.static.all():
        dynamics[:, 0] = np.mean(np.concatenate(moves), axis=0)
    intercepts = dataclasses.replace(
        fit.intercepts, mean=own.mean(axis=0), variance=own.var(axis=0), dynamics=dynamics
    )
    gamma = draws.flat(draws.shared)
    shared = SharedFit(basis @ gamma.mean(axis=0), basis @ _root(gamma - gamma.mean(axis=0)))
    known = {each.name: getattr(fit, each.name) for each in dataclasses.fields(PosteriorFit)}
    known |= {
        "beta": mean,
        "variance": np.maximum(square - mean**2, 0.0),
        "phi": phi,
        "intercepts": intercepts,
        "shared": shared,
        "joint": None,
    }
    found = SampledFit(**known, draws=draws)
    found = dataclasses.replace(found, agreement=agreement_of(found))
    return found, _effects_of(records) if bound.row_groups is not None else None


def _effects_of(records: Sequence[Record]) -> DrawnEffects:
    """Moments of the effects of groups, then of cells, and means of the variances between them."""
    total = sum(record.done for record in records)
    first, second = np.sum([record.effects for record in records], axis=0) / total
    variances = np.sum([record.variances for record in records], axis=0) / total
    return first, np.maximum(second - first**2, 0.0), variances


def agreement_of(fit: SampledFit) -> FloatArray:
    """(2, p) R-hat and effective draws of the features that are in often enough to tell."""
    out = np.full((2, fit.columns.always_in.size), np.nan)
    draws, inclusion = fit.path_draws(), fit.inclusion()
    steps = np.unique(np.linspace(0, fit.n_timesteps - 1, N_STEPS).astype(np.int64))
    for j, i in enumerate(fit.kept()):
        if inclusion[i] >= TOLD and np.ptp(draws[..., j]) > 0:
            found = [draws[:, :, t, j] for t in steps]
            out[0, i] = max(r_hat(each) for each in found)
            out[1, i] = min(min(effective_draws(each)) for each in found)
    return out


def effective_noise(fit: PosteriorFit, noise: FloatArray) -> FloatArray:
    """(T,) the noise that predicts: 1 / E[1 / noise] over the draws, where there are some."""
    if not isinstance(fit, SampledFit):
        return noise
    return np.asarray(1.0 / (1.0 / fit.draws.flat(fit.draws.noise)).mean(axis=0))
