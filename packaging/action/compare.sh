#!/usr/bin/env bash
# Writes a page of what kernels take before and after a pull request: `compare.sh PAGE [ARGUMENT…]`. `BASE` is the commit that the
# event names. Nothing here fails the job: the check decides.
set -euo pipefail
page=$1
shift

# What is checked out for a pull request is a merge, whose first parent is the branch that it goes to. A shallow clone does not follow
# parents, but the commit names them.
mapfile -t parents < <(git cat-file -p HEAD | sed -n '/^$/q; s/^parent //p')
base=${BASE:-}
[ "${#parents[@]}" -ne 2 ] || base=${parents[0]}
if ! git cat-file -e "$base^{commit}" 2> /dev/null && ! git fetch --quiet --no-tags --depth=1 origin "$base"; then
    echo "::warning title=cargo lmem::the commit $base cannot be fetched, so that kernels are not compared with it"
    exit 0
fi
# Of a branch that is checked out itself, what it does not have yet is no change of it.
if [ "${#parents[@]}" -ne 2 ]; then
    base=$(git merge-base HEAD "$base" || echo "$base")
fi
if ! cargo-lmem lmem diff "$base" "$@" --output "markdown=$page"; then
    echo "::warning title=cargo lmem::the kernels cannot be compared with $base"
fi
