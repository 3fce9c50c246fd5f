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
import pytest

import driftglm
from driftglm.baselines import RidgeAll
from driftglm.files import DamagedFileError, pack


@pytest.fixture(autouse=True)
def _quiet():
    """A few passes are enough; what is stored does not depend on convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ------------------------------------------------------------------ what is refused


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
