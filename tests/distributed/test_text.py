"""Text models on worker processes: the digits of a local fit, whatever happens to the workers."""

import os
import pickle
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csc_matrix, csr_array

from driftglm import DriftTextModel
from driftglm.distributed.client import Tasks
from driftglm.distributed.text import DaskPosteriors, TextEngine, bundles
from driftglm.distributed.text_counts import Facts
from driftglm.exceptions import ConvergenceWarning, DataError, EngineError
from driftglm.fitting import checkpoint
from driftglm.priors import Exact
from driftglm.simulate import simulate_text
from driftglm.solvers import text_engine, text_mode
from driftglm.solvers.text_engine import PosteriorReport
from driftglm.solvers.text_threads import chunks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.usefixtures("client")

TEXT = simulate_text(n_words=90, n_effects=3, n_timesteps=4, random_state=0)
COUNTS = csr_array(TEXT.counts)
WAYS = {
    "learned": {},
    "learned by path": {"tie": "path", "background": "all"},
    "exact": {"prior": Exact(rate="estimate"), "tie": "path"},
    "exact by effect": {"prior": "exact"},
    "variational": {"prior": "variational", "tie": "path"},
    "fixed": {"prior": "fixed"},
}


def side_by_side(counts=COUNTS, cuts=(0, 1, 41, 42, 90)):
    """Delayed columns, of widths that have nothing to do with chunks."""
    return [dask.delayed(counts[:, a:b]) for a, b in pairwise(cuts)]


def in_blocks(rows=50, columns=35):
    """A dask array of sparse blocks, cut both ways."""
    return da.from_array(COUNTS.toarray(), chunks=(rows, columns)).map_blocks(csc_matrix)


def fitted(counts=COUNTS, n_workers=None, checkpoint=None, **params):
    model = DriftTextModel(max_iter=12, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        given = {"n_workers": n_workers, "checkpoint": checkpoint}
        return model.fit(counts, TEXT.effects, time=TEXT.time, **given)


def assert_same(found, expected):
    """To the last digit: one code makes the same sums in the same order."""
    for name in ("coef_path_", "background_", "inclusion_probability_", "objective_history_"):
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    ahead = [model.log_prob(TEXT.effects_next) for model in (found, expected)]
    assert_array_equal(*ahead)
    assert (found.n_iter_, found.stop_reason_) == (expected.n_iter_, expected.stop_reason_)


@pytest.mark.parametrize("n_bundles", [1, 3, 17, 64, 1000])
@pytest.mark.parametrize("n_words", [1, 63, 64, 65, 1000])
def test_bundles_are_the_chunks_of_a_local_fit_in_their_order(n_words, n_bundles):
    found = bundles(n_words, n_bundles)
    assert len(found) <= n_bundles
    flat = [(b.first + start, b.first + end) for b in found for start, end in b.chunks]
    assert flat == chunks(n_words)
    assert all(b.last == b.first + b.chunks[-1][1] for b in found)


@pytest.mark.parametrize("way", WAYS)
def test_words_of_a_local_table_on_workers_give_the_local_fit(way):
    assert_same(fitted(n_workers=2, **WAYS[way]), fitted(**WAYS[way]))


@pytest.mark.parametrize(
    ("way", "place"),
    [("learned", "side by side"), ("exact", "side by side"), ("learned by path", "in blocks")],
)
def test_counts_that_are_on_workers_give_the_local_fit(way, place):
    counts = side_by_side() if place == "side by side" else in_blocks()
    assert_same(fitted(counts, **WAYS[way]), fitted(**WAYS[way]))


@pytest.mark.parametrize(("way", "n_bundles"), [("fixed", 1), ("learned", 5), ("fixed", 64)])
def test_the_number_of_bundles_changes_no_digit(monkeypatch, way, n_bundles):
    made = TextEngine.__init__

    def cut(self, given):
        made(self, given)
        self.n_bundles = n_bundles

    monkeypatch.setattr(TextEngine, "__init__", cut)
    assert_same(fitted(n_workers=2, **WAYS[way]), fitted(**WAYS[way]))


def test_averages_refit_on_workers_too():
    found, expected = (fitted(n_workers=n, extrapolate="average") for n in (2, None))
    assert found.extrapolate_ == expected.extrapolate_ == "average"
    assert_same(found, expected)
    weights = (each.extrapolation_weights_.to_numpy() for each in (found, expected))
    np.testing.assert_allclose(*weights, atol=1e-9)


@pytest.mark.parametrize("bursts", ["estimate", None])
def test_counts_on_workers_are_averaged_as_in_one_process(bursts):
    """Fits as of earlier steps are made there; a step that judges comes here in pieces."""
    given = {"extrapolate": "average", "burstiness": bursts}
    found, expected = fitted(in_blocks(), **given), fitted(**given)
    assert_same(found, expected)
    for name in ("extrapolation_weights_", "extrapolation_scores_"):
        pair = (getattr(each, name).to_numpy() for each in (found, expected))
        np.testing.assert_allclose(*pair, rtol=1e-9, err_msg=name)


def test_a_client_that_nobody_asked_for_does_nothing(monkeypatch):
    def refuse(*_):
        raise AssertionError("a task was sent")

    monkeypatch.setattr(Tasks, "submit", refuse)
    fitted(prior="fixed")


def test_effects_and_time_may_be_dasks():
    effects, steps = (da.from_array(np.asarray(part)) for part in (TEXT.effects, TEXT.time))
    model = DriftTextModel(prior="fixed").fit(side_by_side(), effects, time=steps)
    assert_same(model, fitted(prior="fixed"))


def test_delayed_frames_name_the_words():
    pandas = pytest.importorskip("pandas")
    names = [f"word{j}" for j in range(90)]
    frame = pandas.DataFrame(COUNTS.toarray(), columns=names)
    parts = [dask.delayed(frame.iloc[:, :40]), dask.delayed(frame.iloc[:, 40:])]
    assert list(fitted(parts, prior="fixed").vocabulary_) == names
    with pytest.raises(DataError, match="in the order of the vocabulary"):
        fitted(parts, prior="fixed", vocabulary=names[::-1])


# -------------------------------------------------------------------- what moves


def test_the_client_never_sees_the_counts(monkeypatch):
    here = os.getpid()

    def load(first, last):
        assert os.getpid() != here, "the client loaded counts"
        return COUNTS[:, first:last]

    seen = []
    gather = Tasks.gather

    def watched(self, futures):
        found = gather(self, futures)
        seen.extend(found)
        return found

    monkeypatch.setattr(Tasks, "gather", watched)
    fitted([dask.delayed(load, pure=False)(30 * k, 30 * k + 30) for k in range(3)])
    kinds = {Facts: 0, PosteriorReport: 0, np.ndarray: 0, tuple: 0}
    for part in seen:
        kinds[type(part)] += 1
    assert min(kinds.values()) > 0
    assert {part.shape[0] for part in seen if type(part) is np.ndarray} == {4}  # sums by step
    # How bursty words are, sums over documents; and paths, at the end.
    tuples = [part for part in seen if type(part) is tuple]
    assert {len(part) for part in tuples} == {2, 6}
    assert {each.shape[0] for part in tuples if len(part) == 2 for each in part} == {3}


def test_bytes_of_a_pass_are_those_of_the_formula(monkeypatch):
    """docs/distributed.md: 8 (C N + C F K) bytes come up, 8 (N + G K + components) go down."""
    up, down = [], []
    update, send = DaskPosteriors.update, TextEngine.send

    def counted(self, component):
        report = update(self, component)
        up.append(len(pickle.dumps(report)))
        return report

    monkeypatch.setattr(DaskPosteriors, "update", counted)

    def weighed(self, message, log_rate):
        down.append(len(pickle.dumps(message)))
        return send(self, message, log_rate)

    monkeypatch.setattr(TextEngine, "send", weighed)
    model = fitted(n_workers=2)
    n_chunks, n_contexts, n_paths = len(chunks(90)), model.n_contexts_, 4
    n_components = model._fit.posterior.components.count
    formula = 8 * n_chunks * (n_contexts + n_paths * n_components)
    assert up[-1] == pytest.approx(formula, rel=0.2)
    assert down[-1] < 8 * (n_contexts + n_components * (n_paths + 4 * 4 + 8)) * 1.2 + 1000


# ------------------------------------------------------------------- what breaks


def killing(monkeypatch, kill, moments):
    """Kill a worker when results are waited for the n-th time, while tasks are under way."""
    calls = [0]
    gather = Tasks.gather

    def disturbed(self, futures):
        calls[0] += 1
        if calls[0] in moments:
            kill(moments.index(calls[0]))
        return gather(self, futures)

    monkeypatch.setattr(Tasks, "gather", disturbed)
    return calls


@pytest.mark.parametrize(("way", "moments"), [("learned", [4, 8]), ("fixed", [4])])
def test_workers_killed_during_a_fit_change_nothing(kill_worker, monkeypatch, way, moments):
    expected = fitted(**WAYS[way])
    calls = killing(monkeypatch, kill_worker, moments)
    found = fitted(side_by_side(), **WAYS[way])
    assert calls[0] > moments[-1]
    assert_same(found, expected)


@pytest.mark.parametrize("way", ["learned", "exact"])
def test_the_only_worker_may_die(monkeypatch, replace_worker, way):
    expected = fitted(**WAYS[way])
    calls = killing(monkeypatch, lambda _: replace_worker(), [5])
    found = fitted(n_workers=1, **WAYS[way])
    assert calls[0] > 5
    assert_same(found, expected)


@pytest.mark.parametrize(("way", "moment"), [("learned", 6), ("fixed", 3)])
def test_after_a_lost_scheduler_the_fit_goes_on(tmp_path, monkeypatch, way, moment):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)
    whole = fitted(**WAYS[way])
    place, file = tmp_path / "scheduler.json", tmp_path / "fit.checkpoint"
    scheduler = start("scheduler", place, "--port", "0", "--no-dashboard", "--no-show")
    worker = start("worker", place, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    one_sentence = r"^the Dask scheduler was lost; fit again with checkpoint=[^\n]*\.$"
    try:
        with distributed.Client(scheduler_file=str(place), timeout=30) as own:
            own.wait_for_workers(1, timeout=60)
            with monkeypatch.context() as during:
                killing(during, lambda _: scheduler.kill(), [moment])
                with pytest.raises(EngineError, match=one_sentence):
                    fitted(n_workers=1, checkpoint=file, **WAYS[way])
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait(timeout=30)
    assert file.exists()
    passes = counted_passes(monkeypatch)
    assert_same(fitted(checkpoint=file, **WAYS[way]), whole)
    assert 0 < len(passes) < whole.n_iter_
    assert not file.exists()


def counted_passes(monkeypatch):
    """A list that grows with every pass over the words in this process."""
    passes = []

    def count(module, name):
        inner = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: (passes.append(1), inner(*args))[1])

    count(text_mode, "sweep_chunks_inplace")
    count(text_engine, "update_chunks_inplace")
    return passes


def start(what, place, *options):
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--scheduler-file", str(place)]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen([*command, *options], stdout=nowhere, stderr=nowhere)  # noqa: S603


class Stop(Exception):  # noqa: N818
    """In place of a power cut."""


@pytest.mark.parametrize(
    ("way", "on_workers"),
    [(way, False) for way in (*WAYS, "averaged")] + [("learned", True), ("exact", True)],
)
def test_a_text_fit_goes_on_to_the_last_digit(tmp_path, monkeypatch, way, on_workers):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)
    given = WAYS.get(way, {"extrapolate": "average"})
    whole, file = fitted(**given), tmp_path / "fit.checkpoint"
    put, calls = checkpoint.Checkpoint.put, []

    def interrupted(self, *args, **kwargs):
        put(self, *args, **kwargs)
        calls.append(1)
        if len(calls) in {2, 3, 20}:
            raise Stop

    monkeypatch.setattr(checkpoint.Checkpoint, "put", interrupted)
    for _ in range(4):
        try:
            found = fitted(n_workers=2 if on_workers else None, checkpoint=file, **given)
            break
        except Stop:
            assert file.exists()
    assert len(calls) > 3
    assert_same(found, whole)
    assert found.extrapolate_ == whole.extrapolate_
    assert not file.exists()


def test_a_checkpoint_of_other_documents_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    file = tmp_path / "fit.checkpoint"

    def stopped(*_args, **_kwargs):
        raise Stop

    with monkeypatch.context() as during:
        during.setattr(checkpoint.Checkpoint, "remove", stopped)
        with pytest.raises(Stop):
            fitted(checkpoint=file, prior="fixed")
    with pytest.raises(DataError, match="to other data: their sums differ"):
        fitted(COUNTS[:, ::-1], checkpoint=file, prior="fixed")
    with pytest.raises(DataError, match="a checkpoint of another fit"):
        fitted(checkpoint=file, prior="fixed", smoothing=2.0)
    assert file.exists()


# ------------------------------------------------------------------ what is refused


def test_bad_counts_on_workers_are_refused_as_they_are_here():
    wrong = COUNTS.toarray()
    wrong[60, 80] = -2.0
    table = da.from_array(wrong, chunks=(50, 35))
    with pytest.raises(DataError) as here:
        fitted(wrong)
    with pytest.raises(DataError) as there:
        fitted(table)
    assert str(there.value) == str(here.value)
    wrong[60, 80] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted(da.from_array(wrong, chunks=(50, 35)))


def test_blocks_that_do_not_fit_together_are_refused():
    with pytest.raises(DataError, match="block 1 of counts has 10 documents"):
        fitted([dask.delayed(COUNTS[:, :40]), dask.delayed(COUNTS[:10, 40:])])
    with pytest.raises(DataError, match="91 words; pass one column per word"):
        fitted(side_by_side(), vocabulary=[f"w{j}" for j in range(91)])
    for wrong in (da.from_array(np.ones(5)), [dask.delayed(COUNTS[:, :40]), COUNTS[:, 40:]]):
        with pytest.raises(DataError, match="a dask array"):
            fitted(wrong)


def test_bursts_on_workers_are_those_of_a_local_fit():
    """Documents whose tokens come in bursts, counts cut into blocks both ways."""
    rng = np.random.default_rng(5)
    bursty = np.array([rng.multinomial(n, rng.dirichlet(np.full(90, 0.3))) for n in [120] * 90])
    effects, time = np.eye(2)[np.arange(90) % 2], np.repeat(np.arange(3), 30)
    far = da.from_array(bursty.astype(float), chunks=(40, 35))
    models = [
        DriftTextModel(extrapolate="forecast").fit(each, effects, time=time)
        for each in (bursty, far)
    ]
    assert models[0].burstiness_ > 0.01
    np.testing.assert_allclose(models[1].burstiness_, models[0].burstiness_, rtol=1e-12)
    np.testing.assert_allclose(models[1].word_burstiness_, models[0].word_burstiness_, rtol=1e-10)
    np.testing.assert_allclose(models[1].coef_path_, models[0].coef_path_, rtol=1e-8, atol=1e-10)
    sent = DriftTextModel(extrapolate="forecast")
    sent.fit(bursty, effects, time=time, n_workers=2)
    assert_array_equal(sent.coef_path_, models[0].coef_path_)
