"""Mutants of plans over more than 2^26 elements: each gets the verdict of its twin, the same plan with tiles of a few elements.

  twins.py XLAC FOLDER [COUNT [SEED]]

What the verdict on small plans has to be, plan_mutation_test says by executing them.  Twins differ in one number, the unit in which all
sizes and places are written; so a mistake is one in both or in neither, at the same lines and with the same codes.
"""

import json
import os
import random
import re
import subprocess
import sys

SMALL, LARGE = 128, 1 << 20
TARGET = "vtcm4m"

NEGATE = ("""HloModule negate
ENTRY e {
  x = s8[$72] parameter(0)
  ROOT y = s8[$72] negate(x)
}
""", """scope @K:
  edges explicit
  Buffer ROOT_TENSOR(size=4194304, align=128)
  Memory x(shape=($72,), dtype=s8) arg @A
  Memory y(shape=($72,), dtype=s8) result @R
  Tensor ring0(shape=(2,$1), dtype=s8, kind=ring, stride=$1) from ROOT_TENSOR[$0:$2]
  Tensor ring1(shape=(1,$1), dtype=s8, kind=ring, stride=$1) from ROOT_TENSOR[$2:$3]
  for i in [0, 9]:
    for j in [0, 8]:
      ld0: load ring0[(8*i+j)%2, :] <- x[i*$8+j*$1:+$1] after ex0[j-2]
      ex0: op ring1[0, :] = ring0[(8*i+j)%2, :] stages="0:0" at="d0=i*$8+j*$1:+$1" after ld0, st0[j-1]
      st0: store y[i*$8+j*$1:+$1] <- ring1[0, :] after ex0
""")
# a part of x that begins where a number says which is known when the plan begins
STARTS = ("""HloModule starts
ENTRY e {
  x = s8[$73] parameter(0)
  s = s32[] parameter(1)
  part = s8[$72] dynamic-slice(x, s), dynamic_slice_sizes={$72}
  ROOT y = s8[$72] negate(part)
}
""", """scope @K:
  edges explicit
  Buffer ROOT_TENSOR(size=4194304, align=128)
  Scalar start value @V in [0, @B]
  Memory x(shape=($72,), dtype=s8, offset=start) arg @A
  Memory y(shape=($72,), dtype=s8) result @R
  Tensor ring0(shape=(2,$1), dtype=s8, kind=ring, stride=$1) from ROOT_TENSOR[$0:$2]
  Tensor ring1(shape=(1,$1), dtype=s8, kind=ring, stride=$1) from ROOT_TENSOR[$2:$3]
  for i in [0, 9]:
    for j in [0, 8]:
      ld0: load ring0[(8*i+j)%2, :] <- x[i*$8+j*$1:+$1] after ex0[j-2]
      ex0: op ring1[0, :] = ring0[(8*i+j)%2, :] stages="0:0" at="d0=i*$8+j*$1:+$1" after ld0, st0[j-1]
      st0: store y[i*$8+j*$1:+$1] <- ring1[0, :] after ex0
""")


def sized(text, unit):
    """$N stands for N units."""
    return re.sub(r"\$(-?\d+)", lambda match: str(int(match[1]) * unit), text)


def drop_edge(text, draw):
    edges = list(re.finditer(r"(?: after |, )(?=\w+(?:\[j-\d\])?(?:,|\n))\w+(?:\[j-\d\])?", text))
    edge = draw.choice(edges)
    rest = text[edge.end():]
    if edge[0].startswith(" after ") and rest.startswith(", "):
        rest = " after " + rest[2:]
    return text[:edge.start()] + rest


def change_number(pattern, changes):
    """One of the numbers that |pattern| finds becomes another one."""
    def change(text, draw):
        found = draw.choice(list(re.finditer(pattern, text)))
        return text[:found.start(1)] + str(int(found[1]) + draw.choice(changes)) + text[found.end(1):]
    return change


def move_up(text, draw):
    lines = text.split("\n")
    at = draw.choice([n for n, line in enumerate(lines) if re.match(r" +(ex|st)0:", line)])
    lines[at - 1], lines[at] = lines[at], lines[at - 1]
    return "\n".join(lines)


MUTATIONS = [
    drop_edge, move_up,
    change_number(r"ROOT_TENSOR\[\$\d:\$(\d)", [-1, 1]), change_number(r"ROOT_TENSOR\[\$(\d)", [-1, 1]),
    change_number(r"\[j-(\d)\]", [-1, 1]),
    change_number(r"j\*\$(\d)", [-1, 1]), change_number(r"i\*\$(\d)", [-1, 1]), change_number(r":\+\$(\d)", [-1, 1]),
    change_number(r"in \[0, (\d)\]", [-1]), change_number(r"%(\d)", [-1, 1]), change_number(r"(\d)\*i", [-1, 1]),
]


def verdict(xlac, folder, name, module, plan, unit):
    """Whether it is accepted, and the lines and codes of what is wrong."""
    for ending, text in (("hlo", module), ("vplan", plan)):
        with open(os.path.join(folder, f"{name}.{ending}"), "w") as out:
            out.write(sized(text, unit))
    done = subprocess.run([xlac, "check-plan", f"--target={TARGET}", "--diagnostics-format=json", f"{folder}/{name}.hlo",
                           f"{folder}/{name}.vplan"], capture_output=True, text=True, timeout=250)
    told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, sorted({(one["line"], one["code"]) for one in told if one["severity"] == "error"})


def printed(xlac, folder, module, unit):
    """What the plan that xlac prints calls the module's kernel, arrays and scalar."""
    path = os.path.join(folder, "printed.hlo")
    with open(path, "w") as out:
        out.write(sized(module, unit))
    text = subprocess.run([xlac, f"--target={TARGET}", "--emit=none", "--dump-plan=-", path], capture_output=True, text=True, check=True).stdout
    scalar = re.search(r"value (v\d+) in \[0, (\d+)\]", text)
    return {"@V": scalar and scalar[1], "@B": scalar and scalar[2], "@R": re.search(r"result (\d+)", text)[1],
            "@A": re.search(r"\) arg (\d+)", text)[1], "@K": re.search(r"scope (\S+):", text)[1]}


def filled(plan, facts):
    for mark, value in facts.items():
        plan = plan.replace(mark, value or "")
    return plan


def main():
    xlac, folder = sys.argv[1:3]
    count, seed = (int(word) for word in (sys.argv[3:] + ["40", "1"][len(sys.argv) - 3:]))
    os.makedirs(folder, exist_ok=True)
    subjects = []
    for module, plan in (NEGATE, STARTS):
        facts = {unit: printed(xlac, folder, module, unit) for unit in (SMALL, LARGE)}
        subjects.append((module, plan, facts))
        for unit in (SMALL, LARGE):
            found = verdict(xlac, folder, "right", module, filled(plan, facts[unit]), unit)
            if found[0] != 0:
                sys.exit(f"the plan that is to be changed is refused: {unit} {found}")
    accepted = refused = 0
    for number in range(count):
        draw = random.Random(seed + number)
        module, plan, facts = draw.choice(subjects)
        mutant = draw.choice(MUTATIONS)(plan, draw)
        small = verdict(xlac, folder, "small", module, filled(mutant, facts[SMALL]), SMALL)
        large = verdict(xlac, folder, "large", module, filled(mutant, facts[LARGE]), LARGE)
        if small != large:
            sys.exit(f"seed {seed + number}: of {SMALL} elements {small}, of {LARGE} {large}:\n{mutant}")
        accepted += small[0] == 0
        refused += small[0] != 0
    print(f"{count} mutants: {accepted} accepted, {refused} refused, as their twins")


main()
