# Configuration of lit for the text tests; testdata/README.md explains how to write one.
# Parameters: xlac (the binary, default build/xlac), config (how it was built), build (where results of tests go).

import os
import platform
import shutil

import lit.formats

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LLVM = os.environ.get("LLVM_PREFIX", "/usr/lib/llvm-19")

config.name = "xlac"
config.test_format = lit.formats.ShTest(execute_external=True)
config.pipefail = True
lit_config.bashPath = os.path.join(ROOT, "scripts", "lit_shell")  # bash with a time limit
config.suffixes = [".hlo", ".test"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(lit_config.params.get("build", os.path.join(ROOT, "build")), "lit")
# Folders that hold data for other runners, or for tests elsewhere.
config.excludes = ["cases", "data", "Inputs", "invalid"]

build_config = lit_config.params.get("config", "release")
config.available_features.add(build_config)
config.available_features.add(platform.machine())
# LAPACK's library, which is made where Debian's libopenblas-dev and liblapacke-dev are.
xlac_path = lit_config.params.get("xlac", os.path.join(ROOT, "build", "xlac"))
if os.path.exists(os.path.join(os.path.dirname(xlac_path), "libxlac_lapack.so")):
    config.available_features.add("lapack")
# Libraries of engines of communication, which are made where Debian's libopenmpi-dev and libmpich-dev are.
for mpi in ("openmpi", "mpich"):
    if os.path.exists(os.path.join(os.path.dirname(xlac_path), f"libxlac_mpi_{mpi}.so")) and shutil.which(f"mpirun.{mpi}"):
        config.available_features.add(mpi)
# What shows HTML pages: Debian's chromium.
if any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
    config.available_features.add("chromium")
# What runs code for RISC-V: Debian's qemu-user-static, gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross.
if all(shutil.which(tool) for tool in ("qemu-riscv64-static", "riscv64-linux-gnu-gcc")):
    config.available_features.add("riscv")

config.substitutions.append(("%xlac", xlac_path))
config.substitutions.append(("%testdata", config.test_source_root))
# "%status N COMMAND…" succeeds when the command exits with N.
config.substitutions.append(("%status", os.path.join(config.test_source_root, "cli", "Inputs", "status")))
config.substitutions.append(("%root", ROOT))

# FileCheck, not, split-file and count are found in LLVM's own folder.
config.environment["PATH"] = os.pathsep.join([os.path.join(LLVM, "bin"), os.environ.get("PATH", "")])
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["NO_COLOR"] = "1"
# Compiled programs that `xlac run` keeps: this run's own, never the user's.
CACHE = os.path.abspath(os.path.join(config.test_exec_root, "cache"))
shutil.rmtree(CACHE, ignore_errors=True)
config.environment["XDG_CACHE_HOME"] = CACHE
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "LIT_TIMEOUT"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
