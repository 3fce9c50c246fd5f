"""Where machine code is kept, also for somebody who may write almost nowhere."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import driftglm
from driftglm import _jit

NOBODY = 65534
SCRIPT = """
import sys
import numpy as np
import driftglm, driftglm._jit
from driftglm.priors.chain import solve_tridiagonal_inplace
assert driftglm.__file__.startswith(sys.argv[1]), driftglm.__file__
out = np.ones(3)
solve_tridiagonal_inplace(np.full(3, 2.0), np.zeros(3), out)
assert (out == 0.5).all()
stats = solve_tridiagonal_inplace.stats
hits, misses = (sum(each.values()) for each in (stats.cache_hits, stats.cache_misses))
print(repr(driftglm._jit.cache_home()), hits, misses)
"""


def interpreter():
    """A Python of this version that an unprivileged user may run, or None."""
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            done = subprocess.run(  # noqa: S603
                [path, "-c", asked], user=NOBODY, group=NOBODY, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
        except OSError:
            continue
        if done.stdout.strip() == ours:
            return path
    return None


@pytest.fixture(scope="module")
def unprivileged(tmp_path_factory):
    """Runs the script as nobody, on a copy of the package nobody may write to."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    python = interpreter()
    if python is None:
        pytest.skip("no Python here that an unprivileged user may run")
    root = tmp_path_factory.mktemp("installed")
    package = Path(driftglm.__file__).parent
    shutil.copytree(package, root / "driftglm", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (root, *root.parents):
        if folder.stat().st_uid == os.getuid() and str(folder).startswith(str(root.parents[2])):
            folder.chmod(0o755)
    path = os.pathsep.join([str(root), sysconfig.get_path("purelib")])

    def run(**variables):
        return subprocess.run(  # noqa: S603
            [python, "-c", SCRIPT, str(root)],
            env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | variables,
            user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
            cwd="/", check=False,
        )  # fmt: skip

    return run


def owned(folder):
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return str(folder)


def test_a_read_only_installation_without_a_home_keeps_its_code_in_a_folder_of_the_users(
    unprivileged, tmp_path
):
    for parent in (tmp_path, tmp_path.parent):
        parent.chmod(0o755)
    scratch = owned(tmp_path / "tmp")
    first = unprivileged(TMPDIR=scratch, HOME="/nonexistent")
    if "No module named" in first.stderr:
        pytest.skip("an unprivileged user cannot read the installed packages")
    home = repr(f"{scratch}/driftglm-{NOBODY}")
    assert first.stdout.split() == [home, "0", "1"], first.stderr
    second = unprivileged(TMPDIR=scratch, HOME="/nonexistent")
    assert second.stdout.split() == [home, "1", "0"], second.stderr


def test_the_users_own_cache_comes_first(unprivileged, tmp_path):
    for parent in (tmp_path, tmp_path.parent):
        parent.chmod(0o755)
    home = owned(tmp_path / "home")
    done = unprivileged(HOME=home)
    if "No module named" in done.stderr:
        pytest.skip("an unprivileged user cannot read the installed packages")
    assert done.stdout.split()[0] == repr(f"{home}/.cache/driftglm"), done.stderr


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(unprivileged, tmp_path):
    for parent in (tmp_path, tmp_path.parent):
        parent.chmod(0o755)
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()  # ours, and closed to others
    (nowhere / f"driftglm-{NOBODY}").mkdir(mode=0o777)
    done = unprivileged(TMPDIR=str(nowhere), HOME="/nonexistent")
    if "No module named" in done.stderr:
        pytest.skip("an unprivileged user cannot read the installed packages")
    assert done.stdout.split()[0] != repr(f"{nowhere}/driftglm-{NOBODY}"), "a folder of another's"
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_calls_a_changed_one_is_compiled_anew(tmp_path):
    # The compiler's own cache would run `outer` with the `inner` it was compiled with.
    package = tmp_path / "driftglm"
    package.mkdir()
    for name in ("_jit.py", "_typing.py"):
        shutil.copy(Path(driftglm.__file__).parent / name, package / name)
    (package / "__init__.py").touch()
    head = "from driftglm._jit import kernel\n"
    inner = head + "@kernel\ndef inner(x):\n    return x + {more}\n"
    outer = head + "from driftglm.inner import inner\n@kernel\ndef outer(x):\n    return inner(x)\n"
    (package / "outer.py").write_text(outer)
    script = "from driftglm.outer import outer as f; print(f(1), sum(f.stats.cache_hits.values()))"
    seen = []
    for more in (1, 1, 5):
        (package / "inner.py").write_text(inner.format(more=more))
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script],
            # Python's own cache does not see a change of the same size within a second.
            env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        seen.append(done.stdout.split())
    assert seen == [["2", "0"], ["2", "1"], ["6", "0"]]
    assert len(list((package / "__pycache__").glob(f"{_jit.FOLDER}*"))) == 1


def test_a_folder_others_can_write_to_will_not_do(tmp_path):
    assert _jit._is_ours(tmp_path)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert not _jit._is_ours(open_to_all)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert not _jit._is_ours(link)


def test_other_functions_keep_their_own_place(monkeypatch):
    monkeypatch.setattr(_jit.config, "CACHE_DIR", "theirs")
    with _jit._stored_in("ours"):
        assert _jit.config.CACHE_DIR == "ours"
    assert _jit.config.CACHE_DIR == "theirs"


FITS = """
import sys
import numpy as np
from joblib import Parallel, delayed
from driftglm.priors.chain import solve_tridiagonal_inplace
from driftglm.baselines.lasso_kernel import duality_gap

def solve(_):
    out = np.ones(3)
    solve_tridiagonal_inplace(np.full(3, 2.0), np.zeros(3), out)
    return out

if __name__ == "__main__":
    if "gap" in sys.argv:
        duality_gap(np.ones(2), np.ones(2), np.ones(2), 1.0, 1.0)
    if "workers" in sys.argv:
        Parallel(n_jobs=2)(delayed(solve)(k) for k in range(2))
    solve(0)
"""


def test_compiling_is_announced_when_it_happens_and_once_whatever_the_number_of_processes(tmp_path):
    script = tmp_path / "fits.py"
    script.write_text(FITS)
    kernels = tmp_path / "kernels"

    def said(*words):
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(script), *words], capture_output=True, text=True, check=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)},
        )  # fmt: skip
        return [line for line in done.stderr.splitlines() if "compiling" in line]

    assert said("workers") == [
        "driftglm: compiling its kernels; this happens once and takes a minute."
    ]
    mark = next(kernels.rglob("compiling"))
    assert said("gap") == []  # said a moment ago
    os.utime(mark, (0, 0))
    assert said("gap") == []  # all is on disk
    for each in kernels.rglob("*duality_gap*"):
        each.unlink()
    assert said("gap") == [
        "driftglm: compiling kernels that were not needed before, once; this takes a moment."
    ]


FIRST_FIT = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from driftglm import DriftRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
DriftRegressor().fit(X, X[:, 0] + rng.normal(size=200), time=np.repeat(range(4), 50))
ours = [module for name, module in sys.modules.items() if name.startswith("driftglm")]
found = {id(each): each for module in ours for each in vars(module).values()}
for each in found.values():
    if isinstance(each, Dispatcher):
        print(each.py_func.__module__, each.py_func.__name__, len(each.signatures))
"""


def test_a_first_fit_compiles_no_kernel_twice_and_none_that_is_for_groups():
    """Both cost a new user seconds: arrays with gaps, and kernels that call all others."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=True
    )
    kernels = [line.split() for line in done.stdout.splitlines()]
    assert [name for _, name, count in kernels if int(count) > 1] == []
    compiled = {(module, name) for module, name, count in kernels if int(count)}
    assert ("driftglm.solvers.path_updates", "update_paths_inplace") in compiled
    assert not {name for module, name in compiled if module.endswith((".offset", ".groups"))}
