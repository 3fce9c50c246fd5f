"""Rows and fits that several files of tests share."""

import io
import subprocess
import sys
import tarfile
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax

from driftglm import DriftRegressor
from driftglm.design import ColumnDesign
from driftglm.families import Gaussian
from driftglm.fitting.text_data import collapse, effect_design, log_background, text_problem
from driftglm.objective import Intercepts, Noise, Objective
from driftglm.solvers.text_mode import ModeTextSolver

REPORTS = ["000361105-10-K-20110714", "000886309-10-K-20110302", "001055102-10-K-20110228"]


class Rows:
    """Features of every kind; the truth is `paths` (T, 6)."""

    def __init__(self, seed=0, rows_per_step=60, n_steps=8):
        rng = np.random.default_rng(seed)
        self.time = rng.permutation(np.repeat(2000 + np.arange(n_steps), rows_per_step))
        codes = self.time - 2000
        self.X = rng.normal(size=(codes.size, 6))
        steps = np.arange(n_steps)
        self.paths = np.zeros((n_steps, 6))
        self.paths[:, 1] = 1.0
        self.paths[:, 2] = 1.0 + 0.5 * np.sin(steps)
        self.paths[:, 3] = np.linspace(-1.0, 1.0, n_steps)
        self.paths[:, 4] = -0.3
        self.intercept = 2.0 + 0.3 * np.cos(steps)
        self.y = (self.X * self.paths[codes]).sum(axis=1) + self.intercept[codes]
        self.y += 0.3 * rng.normal(size=codes.size)


@pytest.fixture(scope="session")
def rows():
    """Rows of features that are zero, constant, drifting and changing sign."""
    return Rows()


@pytest.fixture(scope="session")
def fitted(rows):
    """A fit to these rows with the learned prior, which no test may change."""
    model = DriftRegressor(extrapolate="forecast")
    return model.fit(rows.X, rows.y, time=rows.time)


@pytest.fixture
def panel_rows(rng):
    """X, y, time: column 0 drifts, 1 is constant, 2 to 4 do nothing; the intercept moves."""
    n_steps = 6
    time = np.repeat(np.arange(2001, 2001 + n_steps), 30)
    X = rng.normal(size=(time.size, 5))
    drifting = np.linspace(-1.5, 1.5, n_steps)[time - 2001]
    y = drifting * X[:, 0] + X[:, 1] + 0.2 * (time - 2001) + 0.4 * rng.normal(size=time.size)
    return X, y, time


@pytest.fixture(scope="session")
def make_class_rows():
    """A function (number of classes, rows per step) -> X, y, time."""
    n_steps = 4

    def make(n_classes, per_step=60):
        """Column 0 drifts through zero, column 1 is constant, 2 to 4 do nothing."""
        rng = np.random.default_rng(17 + n_classes)
        time = np.repeat(np.arange(2001, 2001 + n_steps), per_step)
        X = rng.normal(size=(time.size, 5))
        drifting = np.linspace(-2.5, 2.5, n_steps)[time - 2001] * X[:, 0]
        eta = np.column_stack([0 * drifting, drifting + 0.5, 2 * X[:, 1]])
        if n_classes == 2:
            eta = np.column_stack([0 * drifting, drifting + 1.5 * X[:, 1]])
        y = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
        return X, y, time

    return make


@pytest.fixture(scope="session")
def summary_columns():
    """Columns of the table of features."""
    return [
        "feature",
        "inclusion_probability",
        "drift_probability",
        "kind",
        "coef_first",
        "coef_last",
        "coef_next",
        "lower",
        "upper",
        "change",
        "change_lower",
        "change_upper",
        "autocorrelation",
        "reference",
        "note",
    ]


@pytest.fixture
def count_rows(rng):
    """X, counts, time: column 0 drifts, 1 is constant, 2 to 4 do nothing."""
    n_steps = 5
    time = np.repeat(np.arange(2001, 2001 + n_steps), 40)
    X = rng.normal(size=(time.size, 5))
    drifting = np.linspace(-0.8, 0.8, n_steps)[time - 2001]
    rate = np.exp(drifting * X[:, 0] + 0.6 * X[:, 1] + 1 + 0.1 * (time - 2001))
    return X, rng.poisson(rate), time


@pytest.fixture(scope="session")
def row_value():
    """A function: F of a single row of a family."""

    def value(family, y, mean, variance, noise=1.0):
        """F of a single row."""
        row = [np.array([number]) for number in (y, mean, variance)]
        return family.log_likelihood(*row, np.ones(1), np.atleast_1d(noise))

    return value


@pytest.fixture(scope="session")
def scoringrules():
    """An oracle that compiles its functions when it is imported: only its tests shall wait."""
    import scoringrules

    return scoringrules


@pytest.fixture(scope="session")
def run_python():
    """A function that runs Python in another process."""

    def run(code, *arguments):
        """Run Python elsewhere; its failure is the test's."""
        command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def file_facts():
    """What a file says beside its arrays."""
    return {"text": "é\n", "number": 0.1, "list": [1, None, True]}


@pytest.fixture
def file_arrays():
    """Arrays of every kind that a file may hold."""
    return {
        "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "s": np.array(["a", "日本"]),
        "e": np.empty((0, 3)),
        "z": np.array(7),
        "t": np.array(["2001-01-01", "NaT"], dtype="M8[D]"),
        "b": np.array([True, False]),
        "c": np.arange(10)[::3],
        "n": np.array([np.nan, -0.0, np.inf]),
    }


@pytest.fixture(scope="session")
def mode_problem():
    """A function (rng, prior, ...) -> an objective of five steps."""

    def problem(rng, prior, *, intercepts=1, static=(), given=None, n_features=6, scale=1.0):
        """Feature 0 is constant, 1 drifts through zero, the others do nothing; step 3 is empty."""
        codes = np.sort(rng.choice([0, 1, 2, 4], 80))
        X = rng.normal(size=(80, n_features))
        truth = np.zeros((5, n_features))
        truth[:, 0], truth[:, 1] = 1.0, np.linspace(-1, 1, 5)
        y = (X * truth[codes]).sum(axis=1) + 0.4 * rng.normal(size=80)
        columns = np.ones((intercepts, 80))
        if intercepts > 1:
            columns[1:] = rng.normal(size=(intercepts - 1, 80))
            y = y + columns[1]
        if intercepts:
            y = y + 0.3 * codes
        y = scale * y
        mask = np.zeros(n_features, bool)
        mask[list(static)] = True
        return Objective(
            design=ColumnDesign.from_matrix(X, codes, 5)[0],
            family=Gaussian(),
            prior=prior,
            intercepts=Intercepts(
                columns, np.arange(intercepts) == 2, np.full(intercepts, y.var())
            ),
            noise=Noise(given=given, reference=float(y.var())),
            y=y,
            weights=rng.uniform(0.5, 2.0, 80),
            offset=np.zeros(y.size),
            reference=float(y.var()),
            effective_rows=float(y.size),
            static=mask,
        )

    return problem


@pytest.fixture(scope="session")
def off_zero():
    """A function: the state of an objective with every path a little off zero."""

    def ridge_start(objective):
        """Every path a little off zero."""
        rng = np.random.default_rng(0)
        beta = np.tile(
            rng.normal(size=(objective.design.n_features, 1)), objective.design.n_timesteps
        )
        beta[0], beta[1] = 1.0, 0.5
        return objective.start(0.5 * beta * np.sqrt(objective.noise.reference))

    return ridge_start


@pytest.fixture(scope="session")
def path_slopes():
    """A function: the slopes of an objective along every path."""

    def slopes(objective, state, step=1e-6):
        """d value / d path by central differences, the intercepts and the noise held."""
        base = state.eta - objective.design.eta(state.beta)
        out = np.zeros_like(state.beta)
        for i, t in np.ndindex(*out.shape):
            if not state.beta[i].any():
                continue
            values = []
            for sign in (1, -1):
                moved = state.copy()
                moved.beta[i, slice(None) if objective.static[i] else t] += sign * step
                moved.eta = base + objective.design.eta(moved.beta)
                values.append(objective.value(moved))
            out[i, t] = (values[0] - values[1]) / (2 * step)
        return out

    return slopes


@pytest.fixture(scope="session")
def scaled_slopes():
    """A function: slopes of live paths in units that tell how far a mode is."""

    def scaled(objective, state, gradient):
        """Slopes in units of one over the conditional posterior deviation."""
        h = objective.design.squares(objective.weights) / state.noise
        penalty = objective.penalty(state.beta)
        h = np.where(objective.static[:, None], h.sum(axis=1, keepdims=True), h)
        alive = objective.alive(state.beta)
        return (np.abs(gradient) / np.sqrt(h + penalty.omega[:, None] + ~alive[:, None]))[alive]

    return scaled


@pytest.fixture(scope="session")
def text_world():
    """A function (rng, ...) -> contexts, background, problem: 3 steps, 4 effects, 7 words."""

    def world(rng, *, center="step", n_docs=30, scale=3):
        """Documents with two indicators, a number and a sparse number; a problem made of them."""
        n_steps, n_words = 3, 7
        codes = rng.integers(0, n_steps, n_docs)
        effects = np.column_stack(
            [
                rng.random(n_docs) < 0.5,
                rng.random(n_docs) < 0.3,
                rng.normal(size=n_docs),
                rng.normal(size=n_docs) * (rng.random(n_docs) < 0.4),
            ]
        ).astype(float)
        counts = csr_array(rng.poisson(scale, (n_docs, n_words)).astype(float))
        contexts = collapse(counts, effects, codes)
        base = log_background(contexts.counts, contexts.codes, n_steps, "step", 0.5)
        design = effect_design(contexts, n_steps, center, np.ones(4))
        return contexts, base, text_problem(contexts, base, design)

    return world


@pytest.fixture(scope="session")
def dense_text():
    """A function: centred effects, eta and log p of all contexts."""

    def dense(contexts, base, problem, beta):
        """Centred effects (N, F), eta (N, V) and log p (N, V) by plain algebra."""
        x = contexts.effects - problem.design.mean.T[contexts.codes]
        eta = base[contexts.codes] + np.einsum("ni,win->nw", x, beta[:, :, contexts.codes])
        return x, eta, log_softmax(eta, axis=1)

    return dense


@pytest.fixture(scope="session")
def mode_text_solver():
    """A function (problem, contexts, prior, ...) -> the solver of a mode of text."""

    def solver(problem, contexts, prior, *, by_effect=True, n_jobs=None, strength=0.0):
        squares = problem.design.squares(contexts.totals).sum(axis=1) / contexts.totals.sum()
        squares[squares == 0] = 1.0  # an effect that does not vary: any unit will do
        return ModeTextSolver(prior, by_effect, np.arange(squares.size), squares, n_jobs, strength)

    return solver


@pytest.fixture(scope="session")
def baseline_rows():
    """A function (rng, family, ...) -> X, y, time, weights."""

    def make_rows(rng, family, n_rows=120, n_features=5, n_steps=4):
        X = rng.normal(size=(n_rows, n_features))
        time = 2000 + np.arange(n_rows) * n_steps // n_rows
        eta = 0.4 + X @ np.array([1.0, -0.7, 0.5, 0.0, 0.1])[:n_features]
        if family == "gaussian":
            y = eta + rng.normal(size=n_rows)
        elif family == "binomial":
            y = (rng.random(n_rows) < 1 / (1 + np.exp(-eta))).astype(float)
        else:
            y = rng.poisson(np.exp(0.5 * eta)).astype(float)
        return X, y, time, rng.uniform(0.5, 2.0, size=n_rows)

    return make_rows


@pytest.fixture(scope="session")
def baseline_loss():
    """A function (family, y, eta, weights) -> the sum of what baselines minimise."""

    def loss_sum(family, y, eta, weights):
        if family == "gaussian":
            return 0.5 * weights @ (y - eta) ** 2
        if family == "binomial":
            return weights @ (np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0) - y * eta)
        return weights @ (np.exp(eta) - y * eta)

    return loss_sum


@pytest.fixture(scope="session")
def drawn_texts():
    """A function: the texts of a figure."""

    def drawn(figure):
        """All texts as they are drawn, and the warnings of drawing would be errors."""
        from matplotlib.text import Text

        figure.draw_without_rendering()
        found = set()
        for text in figure.findobj(Text):
            if text.get_text() and text.get_visible():
                plain, is_math = text._preprocess_math(text.get_text())
                assert not is_math, text
                found.add(plain)
        return found

    return drawn


@pytest.fixture(scope="session")
def write_reports():
    """A function (folder, year, ...) that writes the files of a year of annual reports."""

    def pack(path, texts):
        with tarfile.open(path, "w:gz") as archive:
            for name, text in texts:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))

    def write_year(folder, year, keys=REPORTS, order=None):
        """The four files of a year, with a document for every key."""
        keys = [key.replace("2011", str(year)) for key in keys]
        for name, shift in (("+12", 0.5), ("-12", 0.0)):
            lines = [f"{-3.0 - i + shift} {key}\n" for i, key in enumerate(keys)]
            (folder / f"{year}.logvol.{name}.txt").write_text("".join(lines))
        meta = [
            f"{key}\t{key[-8:]}\tedgar/{i}\tFIRM {i}\t{100 + i}\n" for i, key in enumerate(keys)
        ]
        (folder / f"{year}.meta.txt").write_text("".join(meta))
        places = range(len(keys)) if order is None else order
        names = [
            (f"{year}.tok/{keys[i]}.mda", f"report {year} {i} risk\n".encode()) for i in places
        ]
        pack(folder / f"{year}.tok.tgz", names)
        return keys

    return write_year


@pytest.fixture
def reports_folder(tmp_path, write_reports):
    """Years of which nothing is known, with three reports each."""
    place = tmp_path / "corpus"
    place.mkdir()
    for year in (2011, 2012):
        write_reports(place, year)
    return place


@pytest.fixture(scope="session")
def family_rows():
    """A function (family, number of rows) -> X, y, time."""

    def rows(family, n=240):
        rng = np.random.default_rng(4)
        time = np.repeat(np.arange(4), n // 4)
        X = rng.normal(size=(n, 4))
        eta = 0.4 * (time - 1) * X[:, 0] + 0.5 * X[:, 1]
        y = {
            "gaussian": eta + rng.normal(size=n),
            "binomial": np.where(eta + rng.logistic(size=n) > 0, "up", "down"),
            "multinomial": np.digitize(eta + rng.normal(size=n), [-0.5, 0.5]),
            "poisson": rng.poisson(np.exp(np.clip(eta, -2, 2))),
        }[family]
        return X, y, time

    return rows
