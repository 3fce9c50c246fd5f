"""A fit whose posterior was sampled: the same questions as of any fit, answered by draws."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.diagnostics.chains import effective_draws, r_hat
from driftglm.fitting.coefficients import SharedFit, Step
from driftglm.fitting.draws import Draws
from driftglm.fitting.fits import Moments, PosteriorFit
from driftglm.objective import Bound, Posterior
from driftglm.solvers.sampling import Sampling, sample


@dataclass(frozen=True)
class SampledFit(PosteriorFit):
    """A posterior with draws.

    Means, variances and component probabilities are those of the draws. Curvatures and linear terms
    are those of the variational fit, from which intercepts are forecast.
    """

    draws: Draws = dataclasses.field(kw_only=True)

    # ------------------------------------------------------------ coefficients

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

    def agreement(self) -> tuple[FloatArray, FloatArray]:
        """(p,) largest R-hat and least number of effective draws over steps; NaN where unknown."""
        worst, least = np.full((2, self.columns.always_in.size), np.nan)
        draws = self.path_draws()
        for j, i in enumerate(self.kept()):
            # A path that does not move is one number.
            steps = 1 if (draws[..., 0, j] == draws[..., -1, j]).all() else self.n_timesteps
            found = [draws[:, :, t, j] for t in range(steps)]
            if np.ptp(found) > 0:
                worst[i] = max(r_hat(each) for each in found)
                least[i] = min(min(effective_draws(each)) for each in found)
        return worst, least

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

    def eta_draws(
        self, X: FloatArray, code: int, rng: np.random.Generator
    ) -> FloatArray:
        """(C S, n_rows) linear predictor of some rows at a step, all with the same coefficients.

        `X` are the columns of `kept` and then, in two more, mean and variance of what all others
        contribute.
        """
        draws, columns = self.draws, self.columns
        kept, first = self.kept(), int(columns.has_intercept)
        n_ahead = code - self.n_timesteps + 1
        if n_ahead <= 0:
            coef = self.path_draws()[:, :, code].reshape(draws.count, -1)
            at_center = draws.flat(draws.intercepts[..., code])[:, :first].sum(axis=1)
            center = self._center(code)
        else:
            mean, own = self._after(n_ahead)
            paths = mean + np.sqrt(own) * rng.standard_normal(mean.shape)
            paths += draws.flat(self._shared_draws(draws.features))
            moments = self._forecast_intercepts(n_ahead)
            every = moments[0] + np.sqrt(moments[1]) * rng.standard_normal(
                (draws.count, moments[0].size)
            )
            coef, at_center = np.hstack([paths, every[:, first:]]), every[:, :first].sum(axis=1)
            center = self._center_ahead(n_ahead)
        eta = (X[:, :-2] - center[kept]) @ coef.T + columns.target_center + at_center
        spread = np.sqrt(X[:, -1]) * rng.standard_normal((draws.count, X.shape[0]))
        return np.asarray(eta.T + X[:, -2] + spread)


def _root(draws: FloatArray) -> FloatArray:
    """(n, r) a square root of the covariance of centred draws (S, n)."""
    count, n = draws.shape
    if n > count:
        return draws.T / np.sqrt(count)
    with one_thread():  # the same digits on any number of threads
        values, vectors = np.linalg.eigh(draws.T @ draws / count)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def sampled(
    fit: PosteriorFit,
    bound: Bound,
    state: Posterior,
    sampling: Sampling,
    how: tuple[int, int, bool],
) -> SampledFit:
    """A variational fit, sampled; `how` is the seed, the threads and whether to show progress."""
    seed, threads, verbose = how
    places = np.cumsum(~fit.columns.always_in) - 1
    keep = [int(places[i]) for i in sampling.keep if not fit.columns.always_in[i]]
    chosen = dataclasses.replace(sampling, keep=tuple(keep))
    records = sample(bound, state, chosen, seed=seed, threads=threads, verbose=verbose)
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
    return SampledFit(**known, draws=draws)


def effective_noise(fit: PosteriorFit, noise: FloatArray) -> FloatArray:
    """(T,) the noise that predicts: 1 / E[1 / noise] over the draws, where there are some."""
    if not isinstance(fit, SampledFit):
        return noise
    return np.asarray(1.0 / (1.0 / fit.draws.flat(fit.draws.noise)).mean(axis=0))
