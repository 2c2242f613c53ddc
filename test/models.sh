#!/usr/bin/env bash
# Checks the models in test/models with spin: every state of each model is safe, and each mutant is found. Prints the number of states.
. "$(dirname "$0")/lib.sh"
need spin spin
need gcc gcc
cd "$root/test/models"
begin=$SECONDS
for model in *.pml; do
  mutants=$(sed -n 's/.*-DMUTANT=1 to \([0-9]*\).*/\1/p' "$model")
  [ "${mutants:-0}" -ge 3 ] || fail "$model has less than three mutants"
  for mutant in $(seq 0 "$mutants"); do
    mkdir -p "$work/$model.$mutant"
    (cd "$work/$model.$mutant" && spin -a "-DMUTANT=$mutant" "$root/test/models/$model" >spin.log &&
      gcc -O2 -DSAFETY "-DMUTANT=$mutant" -o pan pan.c) ||
      fail "$model does not compile: $(cat "$work/$model.$mutant/spin.log")"
    (cd "$work/$model.$mutant" && ./pan -m1000000 -E >pan.log) || true
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/$model.$mutant/pan.log")
    states=$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' "$work/$model.$mutant/pan.log")
    grep -q "Search not completed" "$work/$model.$mutant/pan.log" && [ "$errors" = 0 ] &&
      fail "$model, mutant $mutant: the search was not completed"
    if [ "$mutant" = 0 ]; then
      [ "$errors" = 0 ] || fail "$model is not safe: spin -t shows how"
      echo "$model: $states states, all safe"
      printf '1 models\n%s states, all safe\n' "$states" >>"${FIGURE:-/dev/null}"
    else
      [ "$errors" = 1 ] || fail "$model: mutant $mutant is not found in $states states"
      echo "$model: mutant $mutant found after $states states"
      echo "1 faults built in and found" >>"${FIGURE:-/dev/null}"
    fi
  done
done
echo "ok: $((SECONDS - begin)) s"
