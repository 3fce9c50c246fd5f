"""Words of annual reports against volatility: the five baselines and three priors, rolling.

    python benchmarks/mda10k.py [--jobs 2] [--cache DIR] [--write docs/results/mda10k.md]

3,127 annual reports of 469 companies, filing years 2001-2023: log volatility in the year after
the filing from which words the report uses, and from log volatility in the year before. The data
are not part of the project; they are looked for in the folder named by DRIFTGLM_DATA, or in
../shared/data beside the project, and nothing happens where they are absent.
"""

import argparse
import sys
import time as clock
from pathlib import Path

from real_sets import WINDOWS, load_set
from result_pages import write_page

INTRODUCTION = """# Annual reports and volatility

3,127 annual reports of 469 companies, filing years 2001-2023 (4 to 86 a year up to 2017, about 360
a year since): log volatility in the year after the filing from the 10,000 words ranked 101 to
10,100 in the *training* documents (binary; the ranking is made anew at every origin) and from log
volatility in the year before, which is always in. Development year 2019, test years 2020-2023;
each year is predicted by models fitted to all earlier years.

    python benchmarks/mda10k.py --write docs/results/mda10k.md

The volatility of filing year t is measured until t + 1, so that the last training year's targets
are not quite known when year t + 1 begins; this is the convention of the published experiment.
2020 is the first year of the pandemic, and dominates the overall mean.
"""


TESTS = """Wilcoxon signed-rank tests against the learned prior on the
squared errors of single reports (a positive difference: worse than learned), Holm-corrected:"""


def contestants(reports):
    """Five baselines, three priors, and the past volatility alone for comparison."""
    models = {name: model for name, model in reports.models.items() if name not in WINDOWS}
    return reports.reference | models


def report(result, tune, seconds):
    """One section of the page."""
    chosen = "once, on 2019" if tune == "dev" else "anew for every test year, on the year before"
    ranks = result.ranks().rename_axis("rank by MSE")
    tests = result.significance(baseline="learned")
    tests["p_holm"] = tests["p_holm"].map("{:.2g}".format)
    tests["mean_difference"] = tests["mean_difference"].map("{:+.4f}".format)
    tests["other"] = tests["model"]
    used = [f"{name} {shown(sets)}" for name, sets in result.params.items() if sets[0]]
    said = f"One call of `compare`: {seconds / 60:.1f} minutes. {TESTS}"
    sections = [
        f"## tune={tune!r}: parameters chosen {chosen}",
        result.table("markdown"),
        result.table("markdown", metric="within"),
        markdown(ranks.map("{:.2f}".format)),
        said,
        markdown(tests.set_index("other")[["mean_difference", "p_holm"]].rename_axis("model")),
        f"Chosen: {'; '.join(used)}.",
    ]
    return "\n\n".join(sections)


def shown(sets):
    """The parameters of every test step, once if they are all the same."""
    texts = []
    for params in sets:
        # Strength first: a cache gives them back in the order of their names.
        pairs = sorted(params.items(), reverse=True)
        texts.append(", ".join(f"{key.split('__')[-1]} {value:.4g}" for key, value in pairs))
    return " / ".join(dict.fromkeys(texts))


def markdown(frame):
    """A frame of strings as a Markdown table."""
    rows = [[str(frame.index.name), *frame.columns], ["---"] * (frame.shape[1] + 1)]
    rows += [[str(step), *values] for step, values in zip(frame.index, frame.values, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    """Run both ways of tuning and print the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=None)
    parser.add_argument("--write", type=Path, default=None)
    arguments = parser.parse_args()
    reports = load_set("mda10k_vol")
    if reports is None:
        print("mda10k_vol was not found; set DRIFTGLM_DATA to the folder that holds it.")
        return
    sections = [INTRODUCTION.rstrip()]
    for tune in ("dev", "origin"):
        began = clock.perf_counter()
        result = reports.contest(
            contestants(reports), tune=tune, n_jobs=arguments.jobs, cache_dir=arguments.cache
        )
        sections.append(report(result, tune, clock.perf_counter() - began))
        print(sections[-1], flush=True)
        for name, said in result.warnings.items():
            for line in said:
                print(f"{name}, {line}", file=sys.stderr)
    if arguments.write:
        write_page(arguments.write, "\n\n".join([*sections, f"Processes: {arguments.jobs}."]))


if __name__ == "__main__":
    main()
