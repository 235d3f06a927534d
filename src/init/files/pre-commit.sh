#!/bin/sh
# Finds CUDA local memory and register spills before they are committed. Written by `cargo lmem init --git-hook`;
# `git commit --no-verify` goes past it.
set -eu
# A kernel may include a file of any name.
if git diff --cached --quiet --ignore-submodules=none -- .; then
    exit 0
fi
if ! command -v cargo-lmem > /dev/null; then
    echo "cargo-lmem is not installed: the commit is not checked for local memory" >&2
    exit 0
fi
# git sets variables for hooks, which would lead git elsewhere when it is asked for the tree's files. The index of this commit
# stays: `git commit -a` and `git commit FILE` have one of their own.
unset GIT_DIR GIT_WORK_TREE GIT_PREFIX
case "${GIT_INDEX_FILE:-/}" in
/*) ;;
*) export GIT_INDEX_FILE="$PWD/$GIT_INDEX_FILE" ;;
esac
exec cargo-lmem lmem{scope} --quiet --staged
