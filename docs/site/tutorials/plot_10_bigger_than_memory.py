"""
Bigger than memory
==================

*The table does not fit. What now?* Cut it into shards once, and let workers hold a part each. The
answer is that of one process, to eight digits. Here the table is small, so that we can compare.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from driftglm.simulate import simulate_panel

folder = Path(tempfile.mkdtemp())
panel = simulate_panel(n_features=12, n_active=4, rows_per_step=300, random_state=3)
frame = pd.DataFrame(panel.X, columns=[f"x{i}" for i in range(12)])
frame.assign(year=2001 + panel.time, price=panel.y).to_csv(folder / "rows.csv", index=False)

# %%
# On the command line: ``driftglm shard rows.csv --time year -o shards``. The file is read in
# pieces.
line = "driftglm shard rows.csv --time year -o shards"
done = subprocess.run(
    [sys.executable, "-m", *line.split()], cwd=folder, capture_output=True, text=True, check=True
)
print((done.stdout + done.stderr).strip())

# %%
# A folder of shards is an ``X``; names say which of its columns are y and time. ``n_workers=2``
# would start two processes; a cluster that is there already is used as it is.
from distributed import Client, LocalCluster
from driftglm import DriftRegressor

cluster = LocalCluster(
    n_workers=2, processes=False, dashboard_address=None, local_directory=str(folder)
)
with cluster, Client(cluster):
    there = DriftRegressor().fit(str(folder / "shards"), y="price", n_workers=2)

here = DriftRegressor().fit(frame, panel.y, time=2001 + panel.time)
print(f"largest difference {np.abs(there.coef_path_ - here.coef_path_).max():.1e}")

# %%
there.plot_paths(top=4)

# %%
# A worker keeps its part in columns, and in files where memory is short. What moves between
# processes, and what happens when a worker dies, is in the guide to many workers.
