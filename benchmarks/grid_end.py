"""What the early end of a chain of strengths costs, and saves, where columns are many.

    python benchmarks/grid_end.py [--sets worlds panel] [--json FILE]

Ridge-all and lasso-all are tuned at one origin with all candidates of their chain. From the errors
on the step tuned on follows where the rule (`LONG`) would have left the chain, and which candidate
it would have chosen. "lost" is by how much the error of that one is above the least of all; the
test loss of both is printed where they differ. Sets that are absent are skipped.
"""

import argparse
import json
import time as clock
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from baseline_speed import panel
from history import losses, mda10k, mean_of, tenk
from sklearn.base import clone
from worlds import reference_worlds

from driftglm.baselines import LassoAll, RidgeAll
from driftglm.baselines.tuning import LONG, Patience
from driftglm.simulate import simulate_panel

MODELS = {"ridge-all": RidgeAll, "lasso-all": LassoAll}


def worlds():
    """2,400 rows of 1,000 columns, 40 of which matter."""
    found = reference_worlds()
    if found is None:
        return
    for kind in ("const", "rw", "mixed", "switch"):
        for seed in (0, 1, 2):
            X, y, time, X_next, y_next, *_ = found.scenario(kind, seed)
            yield f"{kind} {seed}", (X, y, time), (X_next, y_next), {}


def wide():
    """Fewer rows than columns, and other families."""
    for family in ("gaussian", "binomial", "poisson"):
        for seed in (0, 1, 2):
            sizes = {"n_features": 800, "rows_per_step": 80, "n_timesteps": 8, "n_active": 15}
            drawn = simulate_panel(**sizes, family=family, random_state=seed)
            rows, later = (drawn.X, drawn.y, drawn.time), (drawn.X_next, drawn.y_next)
            yield f"{family} {seed}", rows, later, {"family": family}


def panels():
    """Sparse words, rows in tens of thousands."""
    for seed in (0, 1, 2):
        case = panel(seed)
        yield f"panel {seed}", *_cut(case, case.steps[-1]), {}


def reports():
    """Words of annual reports, two corpora, several origins."""
    for name, make, steps in (("mda10k", mda10k, (2019, 2021, 2023)), ("tenk", tenk, (2003, 2005))):
        case = make()
        for step in steps if case is not None else ():
            yield f"{name} {step}", *_cut(case, step), case.baseline


def _cut(case, step):
    past, now = np.flatnonzero(case.time < step), np.flatnonzero(case.time == step)
    X, X_now = case.X[past], case.X[now]
    if case.selector is not None:
        chosen = clone(case.selector).fit(X)
        X, X_now = chosen.transform(X), chosen.transform(X_now)
    return (X, case.y[past], case.time[past]), (X_now, case.y[now])


SETS = {"worlds": worlds, "wide": wide, "panel": panels, "reports": reports}


def whole_chain(model, rows):
    """The errors of all candidates, and the strength chosen among them."""
    seen = []

    def never(_, errors):
        seen[:] = errors
        return False

    X, y, time = rows
    with patch.object(Patience, "is_over", never):
        model.fit(X, y, time=time)
    return list(seen), model.strength_


def left_at(errors):
    """How many candidates the rule would have tried."""
    over = (n for n in range(1, len(errors) + 1) if LONG.is_over(errors[:n]))
    return next(over, len(errors))


def measure(name, rows, later, params):
    """Both baselines at one origin."""
    for model_name, make in MODELS.items():
        began = clock.process_time()
        full = make(**params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            errors, _ = whole_chain(full, rows)
            n_tried = left_at(errors)
            early = min(errors[:n_tried])
            found = {
                "set": name,
                "model": model_name,
                "candidates": len(errors),
                "tried": n_tried,
                "lost": early / min(errors) - 1.0,
            }
            if early > min(errors):
                short = make(**params).fit(rows[0], rows[1], time=rows[2])
                family = params.get("family", "gaussian")
                each = [
                    losses(family, later[1], mean_of(model, later[0], {}))
                    for model in (full, short)
                ]
                found["test full"], found["test early"] = map(float, each)
        found["seconds"] = round(clock.process_time() - began, 1)
        yield found


def main():
    """Measure the sets asked for; one line each, and how many lost anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    found = []
    for name in options.sets:
        for case in SETS[name]():
            for line in measure(*case):
                found.append(line)
                shown = ", ".join(
                    f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in line.items()
                )
                print(shown, flush=True)
                if options.json:
                    options.json.write_text(json.dumps(found, indent=1) + "\n")
    lost = [line for line in found if line["lost"] > 0]
    tried, all_of = (sum(line[key] for line in found) for key in ("tried", "candidates"))
    print(
        f"{len(lost)} of {len(found)} searches lost anything; {tried} of {all_of} candidates tried"
    )


if __name__ == "__main__":
    main()
