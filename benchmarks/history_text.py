"""How much history a text model trusts: Federal Reserve documents, the default beside its parts.

    python benchmarks/history_text.py

Negative log-likelihood of the next year in thousands: of the average, and of forecast and held
effects on the backgrounds of the last, of recent and of all years. The data are looked for as in
`real_sets.py`.
"""

import time as clock
import warnings

from real_sets import load_set
from sklearn.base import clone

from driftglm import DriftTextModel


def main():
    """A line a year."""
    warnings.simplefilter("ignore")
    found = load_set("beige_fomc")
    if found is None:
        print("the documents are not here; skipped")
        return
    selector = found.models["learned"].steps[0][1]
    for year in (2004, 2005, 2006):
        past, now = found.time < year, found.time == year
        chosen = clone(selector).fit(found.X[past])
        before, after = chosen.transform(found.X[past]), chosen.transform(found.X[now])
        began = clock.perf_counter()
        model = DriftTextModel().fit(before, found.y[past], time=found.time[past])
        seconds = clock.perf_counter() - began
        parts = model._text_forecasters.steps(model._fit, model._fit.n_timesteps)  # noqa: SLF001
        counts = after.tocsr()
        lost = [-each.log_likelihoods(counts, found.y[now]).sum() / 1e3 for each in parts]
        names = model.extrapolation_weights_.columns
        said = ", ".join(f"{n}: {v:.1f}" for n, v in zip(names, lost, strict=True))
        total = -model.score(after, found.y[now]) / 1e3
        print(f"{year}: average {total:.1f}; {said}; {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
