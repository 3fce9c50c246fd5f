"""How the time of a learned text fit grows with words, contexts and steps.

    python benchmarks/text_scale.py

Ten passes of the learned prior on simulated text; every line doubles one size of the first. Twelve
effects give enough combinations that no two documents of a step collapse into one context.
"""

import time as clock
import warnings

from driftglm import DriftTextModel
from driftglm.exceptions import ConvergenceWarning
from driftglm.simulate import simulate_text

BASE = {"n_words": 1500, "docs_per_step": 40, "n_timesteps": 6}
N_EFFECTS, N_PASSES, N_REPEATS = 12, 10, 3


def seconds(**sizes):
    """The best of a few fits, and the number of contexts."""
    text = simulate_text(n_effects=N_EFFECTS, tokens_per_doc=2000, **sizes)
    times = []
    for _ in range(N_REPEATS):
        began = clock.perf_counter()
        model = DriftTextModel(max_iter=N_PASSES, tol=0.0).fit(
            text.counts, text.effects, time=text.time
        )
        times.append(clock.perf_counter() - began)
    return min(times), model.n_contexts_


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    seconds(n_words=100, docs_per_step=10, n_timesteps=3)  # compiles
    base, contexts = seconds(**BASE)
    print("| words | contexts | steps | seconds | ratio |\n|---|---|---|---|---|")
    print(
        f"| {BASE['n_words']} | {contexts} | {BASE['n_timesteps']} | {base:.2f} | 1 |", flush=True
    )
    for name, size in BASE.items():
        sizes = BASE | {name: 2 * size}
        took, contexts = seconds(**sizes)
        shown = f"| {sizes['n_words']} | {contexts} | {sizes['n_timesteps']} | {took:.2f} "
        print(f"{shown}| {took / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
