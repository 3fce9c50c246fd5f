#!/usr/bin/env bash
# Install sdist and wheel into bare environments outside of the repository, and use them as somebody
# without rights: version, fit, predict, report. Usage: tools/wheel_test.sh DIST
set -euo pipefail
dist=$(cd "$1" && pwd)
limit=1572864 # 1.5 MiB
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"

# As nobody if we are allowed to become nobody, else as we are.
as_user() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$place/home" "$@"
  else
    env HOME="$place/home" "$@"
  fi
}

# A Python that only its owner may run is of no use here; the system's is for all.
python=$(command -v "${PYTHON:-python3}")
as_user "$python" -c '' 2> /dev/null || python=/usr/bin/python3
as_user "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'

for archive in "$dist"/*.whl "$dist"/*.tar.gz; do
  bytes=$(wc -c < "$archive")
  echo "== $(basename "$archive"): $bytes bytes"
  if [[ $archive == *.whl && $bytes -gt $limit ]]; then
    echo "the wheel has more than $limit bytes" >&2
    exit 1
  fi
  rm -rf "$place"/{venv,home,work}
  mkdir "$place"/{home,work}
  if [ "$(id -u)" = 0 ]; then chown nobody:nogroup "$place"/{home,work}; fi
  "$python" -m venv "$place/venv"
  "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$archive[report]"
  cd "$place/work"
  as_user "$place/venv/bin/python" - << 'PROGRAM'
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
year = np.repeat(np.arange(2001, 2007), 40)
size = rng.normal(size=240)
price = (year - 2003) * size + rng.normal(size=240) / 3
pd.DataFrame({"year": year, "size": size, "price": price}).to_csv("sales.csv", index=False)
PROGRAM
  as_user "$place/venv/bin/driftglm" --version
  as_user "$place/venv/bin/driftglm" fit sales.csv --target price --time year -o sales.drift
  as_user "$place/venv/bin/driftglm" predict sales.drift sales.csv --interval 0.9 -o predicted.csv
  as_user "$place/venv/bin/driftglm" report sales.drift -o sales.html
  as_user test -s predicted.csv -a -s sales.html
  cd "$dist"
done
echo "both can be used"
