#!/usr/bin/env bash
# Put a built site into folders of the branch gh-pages. Usage: publish_site.sh SITE FOLDER...
# TOKEN is one that may push; GITHUB_REPOSITORY names the repository.
set -euo pipefail
site=$(cd "$1" && pwd)
shift
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
address="https://x-access-token:${TOKEN}@github.com/${GITHUB_REPOSITORY}.git"
git clone --quiet --depth 1 --branch gh-pages "$address" "$pages" 2> /dev/null || {
  git init --quiet --initial-branch gh-pages "$pages"
  git -C "$pages" remote add origin "$address"
}
for folder in "$@"; do
  rm -rf "${pages:?}/$folder"
  cp -r "$site" "$pages/$folder"
done
touch "$pages/.nojekyll"
start=stable
[ -d "$pages/stable" ] || start=dev
printf '<!doctype html><meta http-equiv="refresh" content="0; url=%s/"><title>driftglm</title>\n' "$start" > "$pages/index.html"
cd "$pages"
git add --all
git -c user.name=driftglm -c user.email=driftglm@users.noreply.github.com commit --quiet --message "Site: $*" || exit 0
git push --quiet origin gh-pages
