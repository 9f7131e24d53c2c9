#!/usr/bin/env bash
# A worker: asks a server for a row, tries it, tells what came out, until no row is left. Start as many as you like.
#
#   export ICEE_URL=http://127.0.0.1:8642 ICEE_TOKEN=icee_...
#   ./worker.sh bread ./experiment.sh
#
# The experiment gets the row as JSON, {"heat": "180", "flour": "rye"}; the last line that it prints is the result, one number. If it fails
# or that is NaN, it is told as failed. The row is lent for LEASE (2h by default, 90m or 30s, say) and renewed every half of it
# while the experiment runs; a worker that dies loses it to the others when the lease ends. A server that is busy or cannot be reached for
# a while is waited for, and so are rows that others have, which may come back. What the server refuses is said, and the next row is
# tried; such rows are given back at the end, which comes after three in a row and is then no success. Needs jq.
set -euo pipefail
study=$1
shift
lease=${LEASE:-2h}
renew=$(LC_ALL=C awk -v lease="$lease" 'BEGIN { print lease / 2 substr(lease, length(lease)) }')
# Workers share a token, so each says who it is. Names of machines differ at their ends, and in a container every worker is process 1.
name=${WORKER:-$(uname -n | tail -c 41)-$$-$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')}
errors=$(mktemp)
keeper=
refused=()
in_a_row=0
trap 'rm -f "$errors"; [ -z "$keeper" ] || kill "$keeper" 2>/dev/null || true' EXIT

# icee study ... at the server, again and again until it is known what became of it.
at_server() {
    until icee study "$@" --by "$name" --at "$ICEE_URL" 2>"$errors"; do
        grep -qE "no answer|try again in a moment|too many requests|nobody knows" "$errors" || return 1
        sleep "${PAUSE:-30}"
    done
}

# A row, as soon as there is one. Those of a worker that dies come back; those of this one that were refused do not count.
next_row() {
    until at_server ask "$study" --more --within "$lease" --json; do
        running=$(sed -nE 's/.*nothing is left; ([0-9]+) are still to be told.*/\1/p' "$errors")
        [ "${running:-0}" -gt "${#refused[@]}" ] || return 1
        sleep "${PAUSE:-30}"
    done
}

# More time for a row, until somebody ends it.
keep() {
    trap 'kill "$pause" 2>/dev/null; exit' TERM
    while sleep "$renew" & pause=$! && wait "$pause"; do
        icee study renew "$study" --row "$1" --within "$lease" --by "$name" --at "$ICEE_URL" || true
    done
}

while [ "$in_a_row" -lt 3 ] && answer=$(next_row); do
    row=$(jq -r '.suggestions[0].id' <<<"$answer")
    keep "$row" </dev/null >/dev/null 2>&1 &
    keeper=$!
    outcome=(--failed)
    if printed=$("$@" <<<"$(jq -c '.suggestions[0].cells' <<<"$answer")"); then
        value=${printed##*$'\n'}
        [[ $value =~ ^[-+]?([nN][aA][nN]|[iI][nN][fF]) ]] || outcome=(--value "$value")
    fi
    kill "$keeper" 2>/dev/null || true
    wait "$keeper" 2>/dev/null || true
    keeper=
    if at_server tell "$study" --row "$row" "${outcome[@]}"; then
        in_a_row=0
        continue
    fi
    # For instance because the experiment has printed no number.
    { echo "not taken: row $row, ${outcome[*]}"; cat "$errors"; } >&2
    if ! grep -q "was told already" "$errors"; then
        refused+=("$row")
        in_a_row=$((in_a_row + 1))
    fi
done
# Done, or something went wrong.
[ "$in_a_row" -ge 3 ] || grep -q "nothing is left" "$errors" || { cat "$errors" >&2; exit 1; }
[ "${#refused[@]}" -gt 0 ] || exit 0
for row in "${refused[@]}"; do
    # Where its time was up it is nobody's, or somebody else's.
    at_server withdraw "$study" --row "$row" || cat "$errors" >&2
done
echo "results refused: ${refused[*]}" >&2
exit 1
