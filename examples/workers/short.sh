#!/usr/bin/env bash
# The shortest worker; worker.sh also extends reservations, waits for rows of others, and releases rows whose results are refused.
set -euo pipefail
while answer=$(icee study ask "$1" --more --within 2h --json --at "$ICEE_URL"); do
    row=$(jq -r '.suggestions[0].id' <<<"$answer")
    result=(--failed)
    if value=$("${@:2}" <<<"$(jq -c '.suggestions[0].cells' <<<"$answer")"); then result=(--value "$value"); fi
    icee study tell "$1" --row "$row" "${result[@]}" --at "$ICEE_URL"
done
