#!/usr/bin/env bash
# The shortest worker; worker.sh also renews rows, waits for a server that is away, and gives back what is refused.
set -euo pipefail
while answer=$(icee study ask "$1" --more --within 2h --json --at "$ICEE_URL"); do
    row=$(jq -r '.suggestions[0].id' <<<"$answer")
    outcome=(--failed)
    if value=$("${@:2}" <<<"$(jq -c '.suggestions[0].cells' <<<"$answer")"); then outcome=(--value "$value"); fi
    icee study tell "$1" --row "$row" "${outcome[@]}" --at "$ICEE_URL"
done
