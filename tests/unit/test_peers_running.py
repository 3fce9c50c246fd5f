"""Fits of peers in processes of their own, and the tables and pages made of them."""

import importlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from peer_fits import PEERS, Peer, PeerData, run_peers, tables
from peer_fits.process import ONE_THREAD, Result

from driftglm.simulate import simulate_panel

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(n_features=6, n_active=3, rows_per_step=50, n_timesteps=4, random_state=3)


def data_of(panel):
    return PeerData("panel", "gaussian", panel.X, panel.y, panel.time, panel.X_next, panel.y_next)


# ------------------------------------------------------------------------- processes


ODD = '''
import os, time
from peer_fits import NotApplicableError
from peer_fits.data import Linear
import numpy as np

class Odd:
    """Does what it is told, but only on the data of the test."""
    def __init__(self, way):
        self.way = way
    def prepare(self, data):
        if self.way == "cannot" and data.name == "panel":
            raise NotApplicableError("one row a step")
        return data
    def fit(self, data):
        if data.name == "panel":
            if self.way == "hangs":
                time.sleep(600)
            if self.way == "raises":
                raise ArithmeticError("no such luck")
            if self.way == "dies":
                print("last words", flush=True)
                os._exit(3)
            if self.way == "learns":
                Odd.fits = getattr(Odd, "fits", 0) + 1
                time.sleep(0.6 / Odd.fits**2)
            if self.way == "eats":
                held = np.ones(25_000_000)
                time.sleep(0.3)
                del held
        if self.way == "tells":
            from driftglm._threads import n_threads
            names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
            told = [*(os.environ.get(name) for name in names), n_threads(-1) == os.cpu_count()]
            return Linear("gaussian", np.zeros(data.X.shape[1]), 1.0, 0, True, repr(told))
        coef = np.zeros(data.X.shape[1])
        coef[0] = np.nan if self.way == "diverges" else 0.0
        return Linear("gaussian", coef, 1.0, 0, self.way != "stops early", "chosen")
'''


@pytest.fixture
def odd(tmp_path, monkeypatch):
    (tmp_path / "odd_peers.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)

    def make(way, **more):
        about = {"package": "numpy", "module": "numpy"} | more
        return Peer(way, target="odd_peers:Odd", settings="", options={"way": way}, **about)

    return make


def test_one_that_hangs_raises_or_dies_is_shown_and_the_others_go_on(panel, odd):
    ways = ("hangs", "raises", "dies", "cannot", "diverges", "stops early", "works")
    absent = odd("absent", package="no-such-package", module="no_such_module")
    # Were the one that hangs (for 600 s) waited for, the time limit of tests would end this one.
    results = run_peers(data_of(panel), [*map(odd, ways), absent], limit=2.0)
    found = {result.peer: result for result in results}
    assert [result.peer for result in results] == [*ways, "absent"]
    assert found["hangs"].status == "not finished"
    assert found["hangs"].note == "not finished in 2 s"
    assert found["raises"].status == "failed"
    assert found["raises"].note == "ArithmeticError: no such luck"
    assert found["dies"].status == "failed"
    assert found["dies"].note == "ended with code 3: last words"
    assert (found["cannot"].status, found["cannot"].note) == ("not applicable", "one row a step")
    assert found["diverges"].status == "failed"
    assert found["stops early"].status == "not converged"
    assert found["absent"].status == "not installed"
    works = found["works"]
    assert works.status == "finished"
    assert works.loss == pytest.approx(np.mean((panel.y_next - 1.0) ** 2))
    assert works.seconds < 2.0


def test_memory_is_the_peak_of_the_fit_above_what_was_there(panel, odd):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("memory is measured on Linux only")
    eats, works = run_peers(data_of(panel), [odd("eats"), odd("works")], limit=60.0)
    # 25 million numbers are 200 MB, gone before the fit ends.
    assert 190e6 < eats.memory < 230e6
    assert works.memory < 20e6


def test_every_contestant_has_one_blas_thread_unless_the_user_says_else(panel, odd, monkeypatch):
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    (alone,) = run_peers(data_of(panel), [odd("tells")], limit=60.0)
    assert alone.note == "['1', '1', '1', True]"  # n_jobs=-1 is all cores still
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    (given,) = run_peers(data_of(panel), [odd("tells")], limit=60.0)
    assert given.note == "['1', '2', '1', True]"


def test_load_before_a_fit_is_kept_with_its_result(panel, odd, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (1.25, 3.0, 4.0), raising=False)
    works, raises = run_peers(data_of(panel), [odd("works"), odd("raises")], limit=60.0)
    assert (works.load, raises.load) == (1.25, 1.25)
    monkeypatch.delattr("os.getloadavg")
    (unknown,) = run_peers(data_of(panel), [odd("works")], limit=60.0)
    assert unknown.load is None


def test_a_family_a_peer_does_not_have_starts_no_process(panel):
    data = replace(data_of(panel), family="poisson")
    (result,) = run_peers(data, [PEERS["pydlm"]], limit=1.0)
    assert result.load is None
    assert (result.status, result.note) == ("not applicable", "no such model of counts")


# ---------------------------------------------------------------------------- tables


def result_of(peer, seconds, loss, status="finished", note=""):
    return Result("d", peer, status, seconds, loss, 3, 2_000_000, note)


def test_table_shows_what_is_there_instead_of_figures():
    rows = tables.markdown(
        [
            result_of("driftglm learned", 2.0, 1.0),
            result_of("a", 1.0, 0.9, "not converged", "strength 1"),
            Result("d", "b", "not finished", note="not finished in 5 s"),
            Result("d", "c", "not applicable", note="no sparse input"),
        ]
    ).splitlines()
    assert rows[2] == "| driftglm learned | 2.00 | 1.0000 | 3 | 2 |  |"
    assert rows[3] == "| a | 1.00 | **0.9000** | 3 | 2 | not converged; strength 1 |"
    assert rows[4] == "| b | not finished in 5 s |  |  |  |  |"
    assert rows[5] == "| c | not applicable |  |  |  | no sparse input |"


def test_verdict_names_losses():
    said = tables.verdict(
        [
            result_of("driftglm learned", 2.0, 1.0),
            result_of("driftglm exact", 0.1, 0.5),
            result_of("a", 1.0, 0.9),
            result_of("b", 4.0, 1.001),
            Result("d", "c", "not finished", note="not finished in 5 s"),
        ]
    )
    assert said == (
        "Loss: the learned prior is behind a (-10.0%); level with it: b. "
        "Time: slower than a (2.0x); not finished at all: c."
    )
    ahead = tables.verdict([result_of("driftglm learned", 2.0, 1.0), result_of("a", 3.0, 1.2)])
    assert ahead == (
        "Loss: no peer is ahead of the learned prior; the best, a, is at +20.0%. "
        "Time: slower than none."
    )


# ------------------------------------------------------------------------- benchmark


@pytest.fixture
def benchmark():
    pytest.importorskip("matplotlib")
    return importlib.import_module


def test_a_second_run_takes_results_from_the_folder(benchmark, panel, tmp_path):
    store = benchmark("peers").Store(tmp_path, data_of(panel))
    peer, runs = PEERS["river online"], []

    def run(status="finished"):
        runs.append(status)
        return Result("panel", peer.name, status)

    def ask(limit, status="finished"):
        return store.ask(peer, lambda: run(status), limit).status

    assert [ask(10.0, "not finished"), ask(5.0), ask(20.0), ask(30.0)] == [
        "not finished",
        "not finished",
        "finished",
        "finished",
    ]
    assert runs == ["not finished", "finished"]
    other = benchmark("peers").Store(tmp_path, replace(data_of(panel), y=panel.y + 1))
    assert other.key(peer) != store.key(peer)
    assert json.loads(next(tmp_path.glob("*.json")).read_text())["limit"] == 20.0


def test_a_fit_that_failed_is_tried_again(benchmark, panel, tmp_path):
    store = benchmark("peers").Store(tmp_path, data_of(panel))
    peer = PEERS["river online"]
    for status in ("failed", "finished"):
        found = store.ask(peer, lambda status=status: Result("panel", peer.name, status), 1.0)
        assert found.status == status


def test_stored_results_are_of_the_code_as_it_is(benchmark, panel, tmp_path, monkeypatch):
    store, module = benchmark("peers").Store(tmp_path, data_of(panel)), benchmark("peer_code")
    measure = benchmark("peer_yardsticks")
    before = store.key(PEERS["skglm lasso"])
    measure.cached(tmp_path, "pass", True, lambda: ["old"])
    assert measure.cached(tmp_path, "pass", True, lambda: ["new"]) == ["old"]
    monkeypatch.setattr(module, "library_fingerprint", lambda: "changed")
    module.code_digest.cache_clear()
    after = store.key(PEERS["skglm lasso"])
    lines = measure.cached(tmp_path, "pass", True, lambda: ["new"])
    # One more line in a benchmark is another benchmark.
    shutil.copytree(BENCHMARKS, tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "__file__", str(tmp_path / "code" / "peer_code.py"))
    with (tmp_path / "code" / "peer_text.py").open("a") as file:
        file.write("# more")
    module.code_digest.cache_clear()
    later = store.key(PEERS["skglm lasso"])
    module.code_digest.cache_clear()
    assert len({before, after, later}) == 3
    assert lines == ["new"]


def test_the_least_time_of_several_fits_counts(panel, odd):
    given = data_of(panel), [odd("learns")]
    (once,), (thrice,) = (run_peers(*given, limit=60.0, n_fits=n) for n in (1, 3))
    assert once.seconds >= 0.6
    assert 0.6 / 9 <= thrice.seconds < once.seconds


def test_limits_are_those_of_the_data_and_the_contestant(benchmark, panel):
    module = benchmark("peers")

    def limit(data, peer, given=None):
        return module.limit_of(replace(data_of(panel), name=data), PEERS[peer], given)

    assert limit("rw", "glum ridge-ts") == 200.0
    assert limit("mixed", "glum ridge-ts") == limit("rw", "glum lasso") == module.SHORT
    assert limit("paper", "driftglm learned") == module.LONG
    assert limit("paper", "glmnet lasso") == module.LASSO
    assert limit("paper", "sklearn ridge-all") == module.MIDDLE
    assert limit("paper", "driftglm learned", 5.0) == 5.0
    assert {*module.MUST, *module.LASSOS, *(name for _, name in module.SPECIAL)} <= set(PEERS)


def test_page_says_how_quiet_the_machine_was(benchmark):
    results = {"a": [Result("a", "b", "finished", load=load) for load in (0.5, 1.0, 4.0, None)]}
    assert "before fits: median 1.0, largest 4.0," in benchmark("peers").loads(results)
    assert benchmark("peers").loads({"a": [Result("a", "b", "finished")]}) == ""


def test_page_and_plot_tell_who_is_ahead(benchmark, tmp_path):
    module = benchmark("peer_page")
    results = {
        "small": [
            result_of("driftglm learned", 2.0, 1.0),
            result_of("a", 1.0, 0.9),
            Result("d", "c", "failed", note="ValueError: x"),
        ]
    }
    shapes = {"small": (10, 2, 3, "gaussian", 20)}
    text = module.page(results, shapes, ["a line"], ([PEERS["pydlm"]], {"pydlm": "1"}, "n", None))
    assert "| small | a 0.9000 | +11.1% | 2 of 2 | a (1.00 s; learned 2.00 s) |" in text
    assert "- small: a" in text
    assert "| c | failed |  |  |  | ValueError: x |" in text
    module.draw(results, tmp_path / "plot.svg")
    assert "driftglm learned" in (tmp_path / "plot.svg").read_text()


def test_text_gradient_is_the_slope_of_the_objective(benchmark):
    from driftglm.simulate import simulate_text

    text = simulate_text(n_words=12, n_effects=3, docs_per_step=6, n_timesteps=4)
    objective = benchmark("peer_text").TextObjective(text.counts, text.effects, text.time)
    rng = np.random.default_rng(0)
    beta, way = rng.normal(size=(2, 12, 3, 4))
    ahead, behind = (objective(0.3 * beta + sign * 1e-5 * way)[0] for sign in (1, -1))
    _, gradient = objective(0.3 * beta)
    assert (ahead - behind) / 2e-5 == pytest.approx(float((gradient * way).sum()), rel=1e-6)


def test_text_yardstick_ends_with_the_gradient_it_stops_by(benchmark):
    from driftglm.simulate import simulate_text

    text = simulate_text(n_words=12, n_effects=3, docs_per_step=6, n_timesteps=4)
    parts = (text.counts, text.effects, text.time, text.counts_next, text.effects_next)
    data, module = PeerData("text", "text", *parts), benchmark("peer_text")
    found, early = (module.lbfgs_text(data, limit=limit) for limit in (60.0, 0.0))
    assert found.reached
    assert not early.reached
    assert found.value < early.value
    assert found.seconds > found.start_seconds > 0.0
