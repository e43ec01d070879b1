#!/usr/bin/env python3
"""Checks the direction of #include between the rooms (docs/house-rules.md).

  scripts/check_layers.py [FOLDER]

Prints one line per violation in the tree at FOLDER (default: this one) and exits 1 when there is any.

  cli -> {parser, passes, codegen, runtime} -> hlo -> base
  hlo: type <- ir <- {infer, eval, analysis};  machine sees base, hlo/type and hlo/ir/hlo_opcode.h
  codegen and runtime share runtime/abi.h and runtime/ffi.h only; inside codegen: kernel <- plan <- tiling <- planfile see no others

Further: includes in quotes are written from the root and name a file of the project; an _internal.h is for files of its own
folder; headers do not include one another in a circle.  Unit tests and what they share (_testing.h) may see every room below cli, since they build what they test
from HLO text.
"""

import pathlib
import re
import sys

HLO = ["hlo", "base"]

# What a room may include besides itself.  The longest matching prefix counts, for both sides.
ALLOWED = {
    "base": [],
    "hlo/type": ["base"],
    "hlo/ir": ["hlo/type", "base"],
    "hlo/infer": ["hlo/ir", "hlo/type", "base"],
    "hlo/eval": ["hlo/ir", "hlo/type", "base"],
    "hlo/analysis": ["hlo/ir", "hlo/type", "base"],
    "hlo/machine": ["hlo/ir/hlo_opcode.h", "hlo/type", "base"],
    "parser": HLO,
    "passes": HLO,
    "codegen": HLO + ["runtime/abi.h", "runtime/ffi.h"],
    "codegen/plan": HLO + ["codegen/kernel"],
    "codegen/tiling": HLO + ["codegen/kernel", "codegen/plan"],
    "codegen/planfile": HLO + ["codegen/kernel", "codegen/plan", "codegen/tiling"],
    "runtime": HLO,
    "cli": ["parser", "passes", "codegen", "runtime"] + HLO,
}
TEST_ALLOWED = ["parser", "passes", "codegen", "runtime"] + HLO

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def room_of(path):
    """The key of ALLOWED that |path| (relative, with slashes) lies in, or None."""
    matches = [room for room in ALLOWED if path.startswith(room + "/")]
    return max(matches, key=len) if matches else None


def is_allowed(includer, included):
    room = room_of(includer)
    allowed = TEST_ALLOWED if includer.endswith(("_test.c", "_testing.h")) and room != "cli" else ALLOWED[room]
    return any(included == entry or included.startswith(entry + "/") for entry in [room] + allowed)


def violations_of(root, path, includes):
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


def find_circle(graph):
    """A list of headers that include one another in a circle, or None."""
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
    graph, problems = {}, []
    for room in sorted({room.partition("/")[0] for room in ALLOWED}):
        for file in sorted((root / room).rglob("*")):
            if file.suffix in (".c", ".h", ".def"):
                path = file.relative_to(root).as_posix()
                if room_of(path) is None:
                    problems.append(f"{path}: is in no room")
                    continue
                graph[path] = INCLUDE.findall(file.read_text(errors="replace"))
                problems += violations_of(root, path, graph[path])
    circle = find_circle({path: includes for path, includes in graph.items() if path.endswith(".h")})
    if circle:
        problems.append("circle: " + " -> ".join(circle))
    for problem in problems:
        print(problem)
    if not graph:
        print(f"{root}: no sources")
    return 1 if problems or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
