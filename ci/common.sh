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

# build FOLDER [CMake argument...]: everything, or what the array `targets` names. With the CUDA compiler that
# `ci/setup --cuda` installed, if it did: CMake takes it where it configures a folder for the first time.
cuda_toolkit=.cuda/nvidia/cu13
targets=()
build() {
  local folder=$1
  shift
  [ ! -e .cuda/assay-setup ] || export CUDACXX="${CUDACXX:-$PWD/$cuda_toolkit/bin/nvcc}"
  cmake -S . -B "$folder" -G Ninja --log-level=NOTICE "$@" || die "CMake failed in $folder"
  ninja -C "$folder" -j "$(nproc)" --quiet "${targets[@]}" || die "the build failed in $folder"
}
