"""Model files: what is refused, and that nothing in a file is run."""

import io
import json
import pickle
import subprocess
import sys
import warnings
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import driftglm
from driftglm import (
    DriftRegressor,
    files,
    persistence,
)
from driftglm.baselines import RidgeAll
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, pack
from driftglm.text import RankedVocabulary

TIME = np.repeat(np.arange(2001, 2006), 12)


@pytest.fixture(autouse=True)
def _quiet():
    """A few passes are enough; what is stored does not depend on convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def panel(seed=0, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(TIME.size, n_features))
    eta = (TIME - 2003) * X[:, 0] / 2 + X[:, 1]
    return X, eta, rng


def same(a, b, where=""):
    """The same class, the same constructor parameters and fitted content, bit by bit."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        if a.dtype.hasobject:
            same(a.ravel().tolist(), b.ravel().tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
            assert a.flags.f_contiguous == b.flags.f_contiguous or not a.flags.forc, where
    elif sp.issparse(a):
        same([a.shape, a.data, a.indices, a.indptr], [b.shape, b.data, b.indices, b.indptr], where)
    elif isinstance(a, pd.Index | pd.Categorical | pd.Series):
        assert a.dtype == b.dtype, where
        same(list(a), list(b), where)
    elif isinstance(a, dict):
        same(list(a), list(b), where)  # order too
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    elif type(a).__module__.startswith(("driftglm", "sklearn")):
        parts = [{k: v for k, v in sorted(vars(each).items()) if k != "owner"} for each in (a, b)]
        same(*parts, where)
    else:
        assert a == b or (a != a and b != b), where  # noqa: PLR0124 (NaN)


# ------------------------------------------------------------------ what is refused


class Own(DriftRegressor):
    """A user's class."""


class Holder(BaseEstimator):
    """A class driftglm knows nothing about."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DriftRegressor(random_state=np.random.default_rng(0)), r"random_state.*Generator"),
        (DriftRegressor(random_state=np.random.RandomState(0)), r"random_state.*RandomState"),
        (RankedVocabulary(tokenizer=str.split), r"RankedVocabulary.tokenizer is of type"),
        (DriftRegressor(prior=Holder()), r"DriftRegressor.prior is of type .*Holder"),
        (DriftRegressor(static=pd.MultiIndex.from_tuples([(1, 2)])), "an index of"),
        (DriftRegressor(always_in={"a"}), "builtins.set"),
        (Own(), "Own is no class that driftglm.load knows"),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_and_no_file_is_left(model, message, tmp_path):
    with pytest.raises(DataError, match=message):
        persistence.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_saving_over_a_model_keeps_the_old_one_if_it_fails(tmp_path):
    RidgeAll(strength=2.0).save(tmp_path / "m")
    with pytest.raises(DataError):
        DriftRegressor(random_state=np.random.default_rng(0)).save(tmp_path / "m")
    assert driftglm.load(tmp_path / "m").strength == 2.0


def forged(content, arrays=None):
    facts = {"kind": "driftglm object", "driftglm": "0", "content": content}
    return pack(facts, arrays or {})


RIDGE = ["RidgeAll", {}, {}, {}]
FORGED = {
    "unknown class": forged({"estimator": ["os.system", {}, {}, {}]}),
    "private class": forged({"record": ["TextKind", {}]}),
    "part alone": forged({"record": ["Fixed", {}]}),
    "not an object": forged([1, 2]),
    "unknown tag": forged({"eval": "1"}),
    "two tags": forged({"list": [], "tuple": []}),
    "inner method": forged({"value": [1]}),
    "unknown parameter": forged({"estimator": ["RidgeAll", {"nope": 1}, {}, {}]}),
    "a method replaced": forged({"estimator": ["RidgeAll", {}, {"predict": 1}, {}]}),
    "a class replaced": forged({"estimator": ["RidgeAll", {}, {"__class__": 1}, {}]}),
    "unknown request": forged({"estimator": ["RidgeAll", {}, {}, {"fly": {"a": True}}]}),
    "missing array": forged({"estimator": ["RidgeAll", {}, {"coef_": {"array": ["a", 1]}}, {}]}),
    "endless axis": forged(
        {
            "estimator": [
                "RidgeAll",
                {},
                {
                    "_axis": {
                        "record": [
                            "TimeAxis",
                            {"kind": "integer", "start": 0, "n_timesteps": 10**15, "freq": 1},
                        ]
                    }
                },
                {},
            ]
        }
    ),
    "bad sparse": forged(
        {
            "estimator": [
                "RidgeAll",
                {},
                {"x": {"sparse": ["csr_array", [1, 2], "d", "i", "p"]}},
                {},
            ]
        },
        {"d": np.ones(1), "i": np.array([99]), "p": np.array([0, 1])},
    ),
    "shapes": forged(
        {
            "estimator": [
                "RidgeAll",
                {},
                {
                    "x": {
                        "record": [
                            "Components",
                            {
                                "static": {"array": ["s", True]},
                                "dynamic": {"array": ["s", True]},
                                "rho": {"array": ["r", True]},
                                "boundary": "stationary",
                                "n_timesteps": 3,
                            },
                        ]
                    }
                },
                {},
            ]
        },
        {"s": np.ones(2), "r": np.ones(3)},
    ),
    "other kind": pack({"kind": "something else"}, {}),
    "no kind": pack({}, {}),
    "deep": forged(json.loads("[" * 400 + "]" * 400)),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_content_gives_one_clear_error(name, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(FORGED[name])
    with pytest.raises(DamagedFileError) as caught:
        driftglm.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reading_never_runs_a_pickle_in_the_file(tmp_path):
    """The payload works when unpickled, and does nothing when loaded, wherever it is put."""
    mark = tmp_path / "ran"

    class Payload:
        def __reduce__(self):
            return (open, (str(mark), "w"))

    payload = pickle.dumps(Payload())
    pickle.loads(payload).close()  # noqa: S301
    assert mark.exists()
    mark.unlink()
    objects = io.BytesIO()
    np.save(objects, np.array([Payload()], dtype=object), allow_pickle=True)
    good = io.BytesIO(forged({"estimator": RIDGE}, {"a": np.ones(1)}))
    with zipfile.ZipFile(good) as archive:
        text, comment = archive.read("model.json"), archive.comment
    (tmp_path / "raw").write_bytes(payload)
    for name, parts in {
        "member": {"model.json": text, "a.npy": objects.getvalue()},
        "facts": {"model.json": payload, "a.npy": b""},
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for part, data in parts.items():
                archive.writestr(part, data)
            archive.comment = comment
    for name in ("raw", "member", "facts"):
        with pytest.raises(DamagedFileError):
            driftglm.load(tmp_path / name)
        assert not mark.exists()


def test_load_is_lazy_and_in_the_public_names():
    code = "import sys, driftglm; assert 'load' in dir(driftglm); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    assert "load" in driftglm.__all__


def test_other_files_say_what_they_are(tmp_path):
    joblib.dump(RidgeAll(), tmp_path / "m.joblib")
    with pytest.raises(DamagedFileError, match="no zip archive"):
        driftglm.load(tmp_path / "m.joblib")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(DamagedFileError, match=r"without model.json"):
        driftglm.load(tmp_path / "other.zip")
    with pytest.raises(FileNotFoundError, match="nothing"):
        driftglm.load(tmp_path / "nothing")


def resealed(data, change):
    """A file whose JSON was changed by someone who knows how to seal it again."""
    facts, arrays = files.unpack(data)
    change(facts["content"]["estimator"][2], arrays)
    return pack(facts, arrays)


def fit_of(state):
    """The fields of the first fit of the first forecaster."""
    forecaster = state["_forecasters"]["tuple"][0]["record"][1]
    return forecaster["fits"]["tuple"][0]["record"][1]


def longer_components(state, _):
    fit_of(state)["components"]["record"][1]["n_timesteps"] += 1


def shorter_curvature(state, arrays):
    name = fit_of(state)["h"]["array"][0]
    arrays[name] = arrays[name][:, 1:]


def steps_beyond(state, arrays):
    name = state["_rows"]["record"][1]["codes"]["array"][0]
    arrays[name] = arrays[name] + 10**9


@pytest.mark.parametrize("change", [longer_components, shorter_curvature, steps_beyond])
def test_arrays_that_would_lead_compiled_code_astray_are_refused(change, tmp_path):
    """Kernels do not check their indices; a forged file must not reach them."""
    X, eta, _ = panel()
    model = DriftRegressor(max_iter=2, keep_data=True).fit(X, eta, time=TIME)
    model.save(tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(resealed(whole, lambda *_: None))
    same(model, driftglm.load(tmp_path / "m"))
    (tmp_path / "m").write_bytes(resealed(whole, change))
    with pytest.raises(DamagedFileError, match=r"fit each other|unlike its neighbours"):
        driftglm.load(tmp_path / "m")
