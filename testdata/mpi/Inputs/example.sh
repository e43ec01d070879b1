#!/bin/sh
# Builds and runs examples/run_ranks.c: example.sh XLAC ROOT openmpi|mpich FOLDER
set -eu
xlac=$1 root=$2 mpi=$3 folder=$4
libraries=$(cd "$(dirname "$xlac")" && pwd)
xlac=$libraries/${xlac##*/}
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
"$xlac" "$root/examples/mean_of_rows.hlo" -o mean_of_rows.o
"mpicc.$mpi" -Wall -Wextra -Werror -I"$root/include" -I. "$root/examples/run_ranks.c" mean_of_rows.o "$libraries/libxlac_mpi_$mpi.so" \
  "-Wl,-rpath,$libraries" -lm -o run_ranks
"$root/scripts/mpi_run" "$mpi" 2 ./run_ranks
"$root/scripts/mpi_run" "$mpi" 3 ./run_ranks 2>&1 && exit 1
exit 0
