"""Plans that are wrong: each edge of a printed plan left out in turn has to be reported at its command.

  mutate.py XLAC MODULE TARGET FOLDER
"""

import os
import re
import subprocess
import sys

EDGE = re.compile(r"[A-Za-z_]\w*(?:\[\w+-\d+\])?")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def without_edge(line, number):
    head, after = line.split(" after ")
    edges = EDGE.findall(after)
    del edges[number]
    return head + (" after " + ", ".join(edges) if edges else "")


def main():
    xlac, module, target, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    plan = os.path.join(folder, "plan.vplan")
    subprocess.run([xlac, "--target=" + target, "--emit=none", "--dump-plan=" + plan, module], check=True)
    lines = open(plan).read().split("\n")
    edges = [(n, e) for n, line in enumerate(lines) if " after " in line
             for e in range(len(EDGE.findall(line.split(" after ")[1])))]
    mutant = os.path.join(folder, "mutant.vplan")
    for n, e in edges:
        changed = lines[:n] + [without_edge(lines[n], e)] + lines[n + 1:]
        with open(mutant, "w") as out:
            out.write("\n".join(changed))
        found = run(xlac, "check-plan", "-v", "--target=" + target, module, mutant)
        # the race is told at the later of the two commands, which is the one that no longer waits or one behind it
        races = re.findall(r"mutant\.vplan:(\d+):\d+: error: .*nothing orders the two", found.stderr)
        if found.returncode != 1 or not races:
            sys.exit(f"line {n + 1}: {changed[n]}\nnot reported: {found.stderr}")
    print(f"{len(edges)} edges, all needed")


main()
