#!/usr/bin/env bash
# A worker: asks a server for a row, tries it, tells what came out, until no row is left. Start as many as you like.
#
#   export ICEE_URL=http://127.0.0.1:8642 ICEE_TOKEN=icee_...
#   ./worker.sh bread ./experiment.sh
#
# The experiment gets the row as JSON, {"heat": "180", "flour": "rye"}, and prints one number. If it fails, that is told. The row is
# lent for LEASE (2 h by default); a worker that dies loses it to the others then. Needs jq.
set -euo pipefail
study=$1
shift
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
while answer=$(icee study ask "$study" --more --within "${LEASE:-2h}" --json --at "$ICEE_URL" 2>"$errors"); do
    row=$(jq -r '.suggestions[0].id' <<<"$answer")
    if value=$(jq -c '.suggestions[0].cells' <<<"$answer" | "$@"); then
        icee study tell "$study" --row "$row" --value "$value" --at "$ICEE_URL"
    else
        icee study tell "$study" --row "$row" --failed --at "$ICEE_URL"
    fi
done
# Done, or something went wrong.
grep -q "nothing is left" "$errors" || { cat "$errors" >&2; exit 1; }
