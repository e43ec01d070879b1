#!/usr/bin/env python3
"""Checks who may know whom among the rooms, the folders of the sources (docs/house-rules.md).

  scripts/check_layers.py [FOLDER]

Prints one line per violation in the tree at FOLDER (default: this one) and exits 1 when there is any.

ROOMS says for every room which others its files may include.  Checked as well:
  - ROOMS itself has no circle, so no two rooms include one another;
  - a file does not get around it by a forward declaration: `struct X` of a room that it may not include (public headers do, of the
    types whose insides they do not show);
  - includes in quotes are written from the root, those of public headers from include/, and name a file of the project;
  - an _internal.h is for files of its own folder;
  - files do not include one another in a circle.
Unit tests and what they share (_testing) may see every room below cli, since they build what they test from HLO text.
"""

import pathlib
import re
import sys

HLO = ["base", "hlo/type", "hlo/ir", "hlo/infer", "hlo/eval", "hlo/analysis"]
TARGET = ["hlo/machine/description/machine_abilities.h"]
PASS = HLO + TARGET + ["base/packing", "passes/pipeline", "passes/cleanup"]
ABI = ["include/xlac/abi.h", "include/xlac/ffi.h"]
STANDALONE = ["include/xlac/thread_pool.h", "include/xlac/weights.h", "include/xlac/constants.h"]
MACHINE = ["hlo/machine/description", "hlo/machine/stream"]
ONCORE_PLAN = ["base", "hlo/type", "hlo/ir", "codegen/kernel"] + MACHINE

# What a room may include besides itself: rooms, or single headers of them.
ROOMS = {
    # What programs outside include, and the rooms as they do: as "xlac/abi.h".
    "include/xlac": [],
    "base": [],
    "base/packing": ["base"],
    "base/page": ["base"],
    "hlo/type": ["base"],
    "hlo/ir": ["hlo/type", "base"],
    "hlo/infer": ["hlo/ir", "hlo/type", "base"],
    "hlo/eval": ["hlo/ir", "hlo/type", "base"],
    "hlo/analysis": ["hlo/ir", "hlo/type", "base"],
    # A vector processor as a value; what commands do on it, with their proofs; second opinions on these for tests.
    "hlo/machine/description": ["hlo/ir/hlo_opcode.h", "hlo/type", "base"],
    "hlo/machine/stream": ["hlo/machine/description", "hlo/type", "base"],
    "hlo/machine/oracle": ["hlo/machine/stream", "hlo/machine/description", "base"],
    # What a module's collectives take on a network.
    "hlo/network": ["hlo/analysis", "hlo/ir", "hlo/type", "base"],
    "parser": ["hlo/infer", "hlo/ir", "hlo/type", "base"],
    "passes/pipeline": HLO + TARGET,
    "passes/cleanup": HLO + TARGET + ["passes/pipeline"],
    "passes/buffers": PASS,
    "passes/control": PASS,
    "passes/expand": PASS,
    "passes/fusion": PASS,
    "passes/layout": PASS + ["passes/simplify/algebraic_rules.h", "passes/control/fixed_parameters.h"],
    "passes/memory": PASS + ["passes/expand/graph_builder.h"],
    "passes/schedule": PASS,
    "passes/simplify": PASS,
    "passes/spmd": PASS + ["passes/expand/graph_builder.h"],
    # Knows no LLVM: the target's abilities, Kernels, how they come from HLO, reports.
    "codegen/target": ["hlo/machine/description", "base"],
    "codegen/kernel": ["hlo/ir", "hlo/type", "base"],
    "codegen/lower": ["codegen/kernel"] + HLO,
    "codegen/report": ["base/page"] + HLO,
    # Plans of vector processors, without LLVM.
    "codegen/oncore/plan": ONCORE_PLAN,
    "codegen/oncore/tiling": ONCORE_PLAN + ["codegen/oncore/plan", "base/packing"],
    "codegen/oncore/language": ONCORE_PLAN + ["hlo/analysis/fused_instruction.h", "codegen/oncore/plan", "codegen/oncore/tiling"],
    # What stays in the Buffer from Kernel to Kernel.
    "codegen/oncore/run": ONCORE_PLAN + ["hlo/analysis", "codegen/lower/emit_family.h", "codegen/oncore/plan", "codegen/oncore/tiling", "base/packing"],
    # LLVM, from the processor up.
    "codegen/llvm": ["codegen/target", "codegen/ir/ir_function.h", "hlo/machine/description", "base"],
    "codegen/ir": ["hlo/type", "base"] + ABI,
    "codegen/vec": ["codegen/ir", "codegen/target", "hlo/ir/hlo_opcode.h", "hlo/ir/hlo_opcode.def", "hlo/ir/fold_identity.h", "hlo/type", "base"],
    "codegen/nest": ["codegen/ir", "codegen/target", "base"],
    "codegen/call": ["codegen/ir", "hlo/ir", "hlo/type", "base"] + ABI,
    "codegen/collective": ["hlo/analysis/trip_count.h", "codegen/ir", "hlo/ir", "hlo/type", "base"] + ABI,
    "codegen/point": ["codegen/kernel", "codegen/lower/emit_family.h", "codegen/ir", "codegen/vec", "hlo/type", "base"],
    "codegen/blocks": ["codegen/point", "codegen/kernel", "codegen/ir", "codegen/vec", "codegen/target", "hlo/type", "base"],
    "codegen/emit": ["codegen/blocks", "codegen/point", "codegen/call", "codegen/collective", "codegen/lower", "codegen/kernel", "codegen/ir",
                     "codegen/vec", "codegen/target"] + HLO + ABI,
    "codegen/oncore/emit": ONCORE_PLAN + ["hlo/analysis/execution_counts.h", "hlo/analysis/fused_instruction.h", "hlo/analysis/buffer_assignment.h", "codegen/target", "codegen/oncore/plan", "codegen/oncore/tiling", "codegen/oncore/language", "codegen/oncore/run",
                                          "codegen/lower", "codegen/emit", "codegen/point", "codegen/ir", "codegen/vec"] + ABI,
    "codegen": ["codegen/oncore/emit", "codegen/oncore/language", "codegen/oncore/tiling", "codegen/emit", "codegen/call", "codegen/collective",
                "codegen/ir", "codegen/llvm", "codegen/lower", "codegen/nest", "codegen/vec", "codegen/oncore/plan"] + ONCORE_PLAN + HLO + ABI,
    # From a text to an object in memory, options and reports as data: what cli and libraries are built on.
    "compiler": ["base/page", "parser", "passes/pipeline", "codegen", "codegen/report", "codegen/llvm", "codegen/oncore/emit",
                 "codegen/oncore/language", "codegen/oncore/plan", "codegen/kernel", "hlo/network",
                 "passes/spmd/sharding_report.h"] + HLO + TARGET,
    # The options that the command line and the library have alike, as a table; what they say about a compilation.
    "compiler/options": ["compiler", "hlo/machine/description", "codegen/llvm", "passes/pipeline"] + HLO + ["include/xlac/thread_pool.h"],
    # The public functions of libxlac.
    "library": ["compiler", "compiler/options", "codegen", "codegen/report", "parser", "runtime/engines", "include/xlac/xlac.h", "include/xlac/builder.h", "include/xlac/specialiser.h"]
               + HLO + ABI + STANDALONE,
    # What surrounds compiled code.
    "runtime/arrays": ["hlo/type", "base"] + ABI,
    "runtime/engines": ["base"] + MACHINE + ABI,
    "runtime/collectives": ["hlo/eval", "hlo/ir", "hlo/type", "base"] + ABI,
    "runtime/mpi": ["include/xlac/mpi.h", "runtime/collectives/movement.h", "runtime/collectives/reduction.h"] + ABI,
    "runtime/remote": ["runtime/engines", "base"] + ABI,
    "runtime/remote/target": ["runtime/remote", "runtime/engines"] + ABI + STANDALONE,
    "runtime/lapack": ABI,
    # C files that programs may copy: they know nothing of xlac but their public headers.
    "runtime/standalone": ["include/xlac/abi.h"] + STANDALONE,
}
# Reads the command line and files, prints; compiles by the compiler's steps alone.
ROOMS["cli"] = ["include/xlac/mpi.h", "compiler", "compiler/options", "base/packing", "base/page", "hlo/machine/description", "hlo/network", "hlo/eval", "hlo/infer", "hlo/ir", "hlo/type", "base",
                "runtime/arrays", "runtime/collectives", "runtime/engines", "runtime/remote"] + ABI + STANDALONE
TOP_ROOMS = list(dict.fromkeys(room.partition("/")[0] for room in ROOMS))  # from the bottom up
TEST_ALLOWED = [room for room in ROOMS if room not in ("cli", "library")]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
DEFINED = re.compile(r"^(?:typedef\s+)?struct\s+(\w+)\s*\{", re.MULTILINE)
MENTIONED = re.compile(r"\bstruct\s+(\w+)\b(?!\s*\{)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def room_of(path):
    """The room of |path| (relative, with slashes), or None."""
    folder = path.rpartition("/")[0]
    while folder and folder not in ROOMS:
        folder = folder.rpartition("/")[0]
    return folder or None


def includes_of(text):
    """The files that |text| includes in quotes, seen from the root."""
    return [f"include/{name}" if name.startswith("xlac/") else name for name in INCLUDE.findall(text)]


def is_allowed(includer, included):
    room = room_of(includer)
    is_test = re.search(r"_test(ing)?\.[ch]$", includer) and room != "cli"
    allowed = TEST_ALLOWED if is_test else ROOMS[room]
    return room_of(included) == room or included in allowed or room_of(included) in allowed


def violations_of(root, path, text, includes, homes):
    folder = path.rpartition("/")[0]
    for included in includes:
        if not (root / included).is_file():
            yield f"{path}: '{included}' is no file seen from the root"
        elif room_of(included) is None:
            yield f"{path}: '{included}' is in no room"
        elif not is_allowed(path, included):
            yield f"{path}: may not include '{included}'"
        elif included.endswith("_internal.h") and included.rpartition("/")[0] != folder:
            yield f"{path}: '{included}' is for its own folder"
    for name in sorted(set(MENTIONED.findall(COMMENT.sub(" ", text)))):
        is_opaque = path.startswith("include/") and f"typedef struct {name} {name};" in text
        if name in homes and not is_opaque and not any(is_allowed(path, home) for home in homes[name]):
            yield f"{path}: may not know 'struct {name}' of '{homes[name][0]}'"


def find_circle(graph):
    """A list of nodes that lead to one another in a circle, or None."""
    done = set()

    def visit(node, trail):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done or node not in graph:
            return None
        for child in graph[node]:
            circle = visit(child, trail + [node])
            if circle:
                return circle
        done.add(node)
        return None

    for start in sorted(graph):
        circle = visit(start, [])
        if circle:
            return circle
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    texts, problems = {}, []
    for room in sorted(TOP_ROOMS):
        for file in sorted((root / room).rglob("*")):
            if file.suffix in (".c", ".h", ".def"):
                path = file.relative_to(root).as_posix()
                if room_of(path) is None:
                    problems.append(f"{path}: is in no room")
                else:
                    texts[path] = file.read_text(errors="replace")
    homes = {}  # of structs
    for path, text in texts.items():
        for name in DEFINED.findall(text):
            homes.setdefault(name, []).append(path)
    graph = {path: includes_of(text) for path, text in texts.items()}
    for path, text in texts.items():
        problems += violations_of(root, path, text, graph[path], homes)
    between_rooms = {room: [entry if entry in ROOMS else entry.rpartition("/")[0] for entry in allowed]
                     for room, allowed in ROOMS.items()}
    for what, nodes in (("rooms", between_rooms), ("files", graph)):
        circle = find_circle(nodes)
        if circle:
            problems.append(f"circle of {what}: " + " -> ".join(circle))
    for problem in problems:
        print(problem)
    if not texts:
        print(f"{root}: no sources")
    return 1 if problems or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
