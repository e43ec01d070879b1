"""Prints a module with a loop of five rounds that adds so many arrays of its state, which it passes on, to another."""

import sys


def main(count):
    numbers = range(count)
    state = "(s32[], " + ", ".join(["s32[64]"] * (count + 1)) + ")"
    reads = "".join(f"  a{i} = s32[64] get-tuple-element(s), index={i + 2}\n" for i in numbers)
    sums = "".join(f"  x{i + 1} = s32[64] add(x{i}, a{i})\n" for i in numbers)
    same = ", ".join(f"a{i}" for i in numbers)
    parameters = "".join(f"  a{i} = s32[64] parameter({i})\n" for i in numbers)
    print(f"""HloModule wide_loop

below {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(5)
  ROOT r = pred[] compare(i, end), direction=LT
}}

round {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x0 = s32[64] get-tuple-element(s), index=1
{reads}{sums}  ROOT t = {state} tuple(next, x{count}, {same})
}}

ENTRY main {{
{parameters}  zero = s32[] constant(0)
  x = s32[64] parameter({count})
  s = {state} tuple(zero, x, {same})
  w = {state} while(s), condition=below, body=round
  ROOT r = s32[64] get-tuple-element(w), index=1
}}""")


main(int(sys.argv[1]))
