#!/usr/bin/env bash
# A worker: asks a server for a row, tries it and records the result, until no row is left. Start as many as you like.
#
#   export ICEE_URL=http://127.0.0.1:8642 ICEE_TOKEN=icee_...
#   ./worker.sh bread ./experiment.sh
#
# The experiment gets the row as JSON, {"heat": "180", "flour": "rye"}; the last line that it prints is the result, one number. If it
# fails or prints NaN, the row is recorded as failed. The row is reserved for LEASE (2h by default; 90m, 30s, …), which is extended while
# the experiment runs; if a worker dies, the reservation expires. The worker waits for a server that is busy or away, and for rows that
# others have reserved. If the server refuses a result, the worker releases the row and stops. Needs curl and jq.
set -euo pipefail
study=$1
shift
lease=${LEASE:-2h}
renew=$(LC_ALL=C awk -v lease="$lease" 'BEGIN { print lease / 2 substr(lease, length(lease)) }')
# Workers that share a token need names. Host names differ at their ends, and in a container every worker is process 1.
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
name=${WORKER:-$(uname -n | tail -c 41)-$$-$(random 4)}

# The token goes by a file that only you can read: arguments of programs can be seen by everybody on a machine.
private=$(mktemp -d)
keeper=
trap 'rm -rf "$private"; [ -z "$keeper" ] || kill "$keeper" 2>/dev/null || true' EXIT
printf 'Content-Type: application/json\n' >"$private/headers"
[ -z "${ICEE_TOKEN:-}" ] || printf 'Authorization: Bearer %s\n' "$ICEE_TOKEN" >>"$private/headers"

# Sends a request: post VERB JSON. The reply is in $reply. Curl repeats it while the server is busy or away, for a day; the key makes sure
# that it is done once.
reply=$private/reply
post() {
    local status
    status=$(curl -sS --retry 17280 --retry-delay 5 --retry-all-errors -o "$reply" -w '%{http_code}' \
        -H "@$private/headers" -H "Idempotency-Key: $(random 16)" \
        -d "$(jq -c --arg by "$name" '. + {by: $by}' <<<"$2")" "$ICEE_URL/api/studies/$study/$1")
    [ "${status:0:1}" = 2 ]
}
code() { jq -r '.problem.code? // empty' "$reply"; }
refused() { jq -r '.error? // .' "$reply" >&2; }

# Asks for a row. If all are measured or in progress, it waits: reservations of others may expire.
next_row() {
    until post ask "$(jq -n --arg within "$lease" '{more: true, within: $within}')"; do
        [ "$(code)" = none-left ] && [ "$(jq .problem.running "$reply")" -gt 0 ] || return 1
        sleep "${PAUSE:-30}"
    done
}

# Extends the reservation of a row until it is killed.
keep() {
    reply=$private/renewed
    trap 'kill "$pause" 2>/dev/null; exit' TERM
    while sleep "$renew" & pause=$! && wait "$pause"; do
        post renew "$(jq -n --arg row "$1" --arg within "$lease" '{rows: [$row], within: $within}')" || refused
    done
}

while next_row; do
    row=$(jq -r '.suggestions[0].id' "$reply")
    keep "$row" </dev/null &
    keeper=$!
    result='{"failed": true}'
    if printed=$("$@" <<<"$(jq -c '.suggestions[0].cells' "$reply")"); then
        value=${printed##*$'\n'}
        [[ $value =~ ^[-+]?([nN][aA][nN]|[iI][nN][fF]) ]] || result=$(jq -n --arg value "$value" '{value: $value}')
    fi
    kill "$keeper" 2>/dev/null || true
    wait "$keeper" 2>/dev/null || true
    keeper=
    if ! post tell "$(jq --arg row "$row" '. + {row: $row}' <<<"$result")"; then
        echo "not recorded: row $row, $(jq -c . <<<"$result")" >&2
        refused
        post withdraw "$(jq -n --arg row "$row" '{rows: [$row]}')" || refused
        exit 1
    fi
done
[ "$(code)" = none-left ] || { refused; exit 1; }
