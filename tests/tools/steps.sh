#!/usr/bin/env bash
# Run make targets one after the other, all of them even if one fails, and say how each went: steps.sh TARGET...
set -uo pipefail

passed=0
failed=0
summary=""
for step in "$@"; do
    printf '\n== %s ==\n' "$step"
    SECONDS=0
    if "${MAKE:-make}" --no-print-directory "$step"; then
        passed=$((passed + 1))
        result=passed
    else
        failed=$((failed + 1))
        result=FAILED
    fi
    summary+=$(printf '%-14s %-7s %5d s' "$step" "$result" "$SECONDS")$'\n'
done

printf '\n== summary ==\n%s' "$summary"
printf 'test: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
