"""Whether a change makes fits slower: five small cases, before and after it, in one job.

    python benchmarks/gate.py [--base origin/main]

The base is checked out beside, and fits of both are timed in turn, in new processes, kernels
compiled before: seconds of the processor, best of three. It fails where a case takes more than 1.5
times as long and a quarter of a second longer. Without a base, or a change, it does nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RATIO, SECONDS, TURNS = 1.5, 0.25, 3
CASES = """
import json, time, warnings
import numpy as np
import scipy.sparse as sp
from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor, DriftTextModel
from driftglm.simulate import simulate_text
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
words = sp.random(4000, 1500, 0.1, random_state=0, format="csr", data_rvs=np.ones)
steps = np.sort(rng.integers(0, 8, 4000))
y = np.asarray(words[:, :20].sum(axis=1)).ravel() * 0.3 + rng.normal(size=4000)
dense = rng.normal(size=(4000, 12))
up = (rng.random(4000) < 1 / (1 + np.exp(-dense[:, 0]))).astype(int)
counts = rng.poisson(np.exp(0.3 * dense[:, 0]))
line = rng.normal(size=(300, 8))
text = simulate_text(n_effects=6, n_words=300, docs_per_step=30, n_timesteps=5)
ahead = {"extrapolate": "forecast"}
cases = {
    "words": lambda: DriftRegressor(**ahead).fit(words, y, time=steps),
    "classes": lambda: DriftClassifier(**ahead).fit(dense, up, time=steps),
    "counts, averaged": lambda: DriftPoissonRegressor().fit(dense, counts, time=steps),
    "series": lambda: DriftRegressor(**ahead).fit(line, line[:, 0], time=range(300)),
    "text": lambda: DriftTextModel(**ahead).fit(text.counts, text.effects, time=text.time),
}
found = {}
for name, fit in cases.items():
    fit()
    began = time.process_time()
    fit()
    found[name] = time.process_time() - began
print(json.dumps(found))
"""


def git(*arguments: str) -> str:
    """What git says."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def seconds(tree: Path) -> dict[str, float]:
    """Of every case, with the code of a tree."""
    known = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CASES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=known, cwd=tree)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def slower(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """Cases that take too much longer."""
    pairs = {name: (before[name], after[name]) for name in before}
    return [name for name, (a, b) in pairs.items() if b > RATIO * a and b > a + SECONDS]


def compare(base: str) -> list[str]:
    """Time both trees in turn, print a table, and say which cases are slower."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git("worktree", "add", "--detach", str(tree), base)
        try:
            runs = [(seconds(tree), seconds(ROOT)) for _ in range(TURNS)]
        finally:
            git("worktree", "remove", "--force", str(tree))
    before, after = ({n: min(r[k][n] for r in runs) for n in runs[0][k]} for k in (0, 1))
    print("| case | base (s) | head (s) | ratio |\n|---|---|---|---|")
    for name, took in before.items():
        print(f"| {name} | {took:.2f} | {after[name]:.2f} | {after[name] / took:.2f} |")
    return slower(before, after)


def main() -> int:
    """0 unless a case became slower."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="origin/main")
    asked = parser.parse_args()
    try:
        base = git("merge-base", "HEAD", asked.base)
        same = not git("diff", "--name-only", base, "--", "src")
    except (OSError, subprocess.CalledProcessError):
        print(f"no base {asked.base} here: the speed of fits was not compared")
        return 0
    if same:
        print("no change of src since the base: the speed of fits was not compared")
        return 0
    found = compare(base)
    if found:
        print(f"slower than {RATIO} times the base: {', '.join(found)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
