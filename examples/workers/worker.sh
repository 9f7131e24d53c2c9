#!/usr/bin/env bash
# A worker: asks a server for a row, tries it, tells what came out, until no row is left. Start as many as you like.
#
#   export ICEE_URL=http://127.0.0.1:8642 ICEE_TOKEN=icee_...
#   ./worker.sh bread ./experiment.sh
#
# The experiment gets the row as JSON, {"heat": "180", "flour": "rye"}, and prints one number. If it fails, that is told. The row is
# lent for LEASE (2 h by default) and renewed every RENEW (30 min) while the experiment runs; a worker that dies loses it to the
# others when the lease ends. A server that is busy or cannot be reached for a while is waited for; what it refuses is said, and the next
# row is tried. Needs jq.
set -euo pipefail
study=$1
shift
lease=${LEASE:-2h}
# Workers share a token, so each says who it is.
name=${WORKER:-$(uname -n | cut -c 1-40)-$$}
errors=$(mktemp)
keeper=
trap 'rm -f "$errors"; [ -z "$keeper" ] || kill "$keeper" 2>/dev/null || true' EXIT

# icee study ... at the server, again and again until it is known what became of it.
at_server() {
    until icee study "$@" --by "$name" --at "$ICEE_URL" 2>"$errors"; do
        grep -qE "no answer|try again in a moment|too many requests|nobody knows" "$errors" || return 1
        sleep "${PAUSE:-30}"
    done
}

# More time for a row, until somebody ends it.
keep() {
    trap 'kill "$pause" 2>/dev/null; exit' TERM
    while sleep "${RENEW:-30m}" & pause=$! && wait "$pause"; do
        icee study renew "$study" --row "$1" --within "$lease" --by "$name" --at "$ICEE_URL" || true
    done
}

while answer=$(at_server ask "$study" --more --within "$lease" --json); do
    row=$(jq -r '.suggestions[0].id' <<<"$answer")
    keep "$row" </dev/null >/dev/null 2>&1 &
    keeper=$!
    if value=$(jq -c '.suggestions[0].cells' <<<"$answer" | "$@"); then
        outcome=(--value "$value")
    else
        outcome=(--failed)
    fi
    kill "$keeper" 2>/dev/null || true
    wait "$keeper" 2>/dev/null || true
    keeper=
    # What is refused, for instance because the experiment has printed no number, is said, and the next row is tried.
    at_server tell "$study" --row "$row" "${outcome[@]}" || { echo "not taken: row $row, ${outcome[*]}"; cat "$errors"; } >&2
done
# Done, or something went wrong.
grep -q "nothing is left" "$errors" || { cat "$errors" >&2; exit 1; }
