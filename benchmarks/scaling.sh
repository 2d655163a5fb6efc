#!/usr/bin/env bash
# How dovetail's own cost grows with the corpus and shrinks with threads, and what a cold first run compiles.
#   bash benchmarks/scaling.sh SOURCE TARGET
# SOURCE and TARGET are plain text files.  Wall seconds, CPU seconds and peak memory as GNU time reports them.
set -euo pipefail
export LC_ALL=C
dovetail=${DOVETAIL:-dovetail}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
row() {  # label, then the command
    local label=$1
    shift
    /usr/bin/time -f "| $label | %e | %U + %S | %M |" "$@" 2>"$folder/err" >/dev/null
    tail -n 1 "$folder/err"
}
echo "| run | wall s | CPU s | peak KB |"
echo "|---|---|---|---|"
total=$(wc -l <"$1")
head -n 1000 "$1" >"$folder/warm.source" && head -n 1000 "$2" >"$folder/warm.target"
NUMBA_CACHE_DIR=$folder/cold row "default, 1,000 pairs, cold cache" "$dovetail" align "$folder/warm.source" "$folder/warm.target" --quiet
row "default, 1,000 pairs, warm cache" "$dovetail" align "$folder/warm.source" "$folder/warm.target" --quiet
for pairs in 10000 100000 "$total"; do
    [ "$pairs" -le "$total" ] || continue
    head -n "$pairs" "$1" >"$folder/source" && head -n "$pairs" "$2" >"$folder/target"
    for recipe in ${RECIPES:-ibm1 hmm}; do
        row "$recipe, $pairs pairs, 2 threads" "$dovetail" align "$folder/source" "$folder/target" --recipe "$recipe" --threads 2 --quiet
    done
    if [ "$pairs" -eq 100000 ]; then
        row "hmm, $pairs pairs, 1 thread" "$dovetail" align "$folder/source" "$folder/target" --recipe hmm --threads 1 --quiet
    fi
done
