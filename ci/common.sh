# What ci/setup, ci/gate and ci/test share; sourced by each as its first act. Every script runs from the repository's
# root, reads no standard input and exits 4 for an error of use or of the machine.
# shellcheck shell=bash
set -Eeuo pipefail
trap 'exit 4' ERR # what fails without a line of ours has said why itself
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 4
}

# cache_of VARIABLE: the user's cache, of which VARIABLE names a folder. Its users run in a substitution, so that what it
# says ends them too.
cache_of() {
  [ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || die "HOME is not set; set it, or $1 to a folder"
  say "${XDG_CACHE_HOME:-$HOME/.cache}"
}

# choose_nvcc ROOT: CUDA's compiler is $CUDACXX, the machine's where CMake looks for it, or else the one that
# `ci/setup --cuda` installed in ROOT, if it did; a folder keeps the one that it was first configured with.
cuda_toolkit=.cuda/nvidia/cu13
choose_nvcc() {
  if [ -e "$1/.cuda/assay-setup" ] && ! PATH=$PATH${CUDA_PATH:+:$CUDA_PATH/bin} command -v nvcc >/dev/null; then
    export CUDACXX="${CUDACXX:-$1/$cuda_toolkit/bin/nvcc}"
  fi
}

# build FOLDER [CMake argument...]: everything, or what the array `targets` names.
targets=()
build() {
  local folder=$1
  shift
  choose_nvcc "$PWD"
  cmake -S . -B "$folder" -G Ninja --log-level=NOTICE "$@" || die "CMake failed in $folder"
  ninja -C "$folder" -j "$(nproc)" --quiet "${targets[@]}" || die "the build failed in $folder"
}
