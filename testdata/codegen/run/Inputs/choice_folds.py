"""The largest or smallest element of each row and its place, by combiners of several forms: which are told from one another, since some
may be computed for parts of a row and others, of last places or of numbers that forget what is none, may not."""

import math
import random

from modules import FLOATS, Module, rounded, wrapped

HEAD = """{name}_{kind}_{place} {{
  a = {kind}[] parameter(0)
  i = {place}[] parameter(1)
  b = {kind}[] parameter(2)
  j = {place}[] parameter(3)
"""
TAIL = """  value = {kind}[] select(first, a, b)
  number = {place}[] select(stays, i, j)
  ROOT r = ({kind}[], {place}[]) tuple(value, number)
}}
"""
# the first of equal ones; what is not a number comes before all others
NAN_FIRST = """  above = pred[] compare(a, b), direction={direction}
  odd = pred[] compare(a, a), direction=NE
  first = pred[] or(above, odd)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  both = pred[] and(equal, before)
  stays = pred[] or(first, both)
"""
# what is not a number makes all that was before it forgotten
NAN_FORGETS = """  above = pred[] compare(a, b), direction={direction}
  equal = pred[] compare(a, b), direction=EQ
  first = pred[] or(above, equal)
  before = pred[] compare(i, j), direction=LT
  both = pred[] and(equal, before)
  stays = pred[] or(above, both)
"""
# what is not a number is never chosen
NAN_NEVER = """  below = pred[] compare(b, a), direction={direction}
  first = pred[] not(below)
  stays = pred[] not(below)
"""
# the last of equal ones
LAST = """  stays = pred[] compare(a, b), direction={direction}
  first = pred[] compare(a, b), direction={direction}
"""


def nan_first(beats, a, b):
    return beats(a[0], b[0]) or a[0] != a[0] or (a[0] == b[0] and a[1] < b[1])


def nan_forgets(beats, a, b):
    return beats(a[0], b[0]) or (a[0] == b[0] and a[1] < b[1])


def nan_never(beats, a, b):
    return not beats(b[0], a[0])


def last(beats, a, b):
    return beats(a[0], b[0])


FORMS = {"nan_first": (NAN_FIRST, nan_first), "nan_forgets": (NAN_FORGETS, nan_forgets), "nan_never": (NAN_NEVER, nan_never),
         "last": (LAST, last)}
ORDERS = {"GT": lambda a, b: a > b, "LT": lambda a, b: a < b}
functions = ""
for form, (text, _) in FORMS.items():
    for direction in ORDERS:
        for kind in ("f32", "f64", "bf16", "s32", "u8"):
            for place in ("s32", "s64", "u32"):
                functions += (HEAD + text + TAIL).format(name=f"{form}_{direction.lower()}", kind=kind, place=place, direction=direction)

module = Module("choice_folds", functions)
numbers = random.Random(1)


def row_values(kind, count, row):
    """Many are equal; zeros are of one sign.  Of floats every third row has some that are no numbers, every fifth is infinite."""
    if kind not in FLOATS:
        return [wrapped(kind, numbers.randrange(-60, 60)) for _ in range(count)]
    values = [rounded(kind, numbers.randrange(-40, 40) + 0.5) for _ in range(count)]
    for _ in range(3 if row % 3 == 1 else 0):
        values[numbers.randrange(count)] = math.nan
    return [-math.inf if row % 2 == 0 else math.inf] * count if row % 5 == 4 else values


def check(form, direction, kind, place, shape, seed):
    rows, columns = shape
    decide, beats = FORMS[form][1], ORDERS[direction]
    table = [row_values(kind, columns, r) for r in range(rows)]
    block = module.parameter(kind, [rows, columns], sum(table, []))
    positions = module.op(place, [rows, columns], "iota(), iota_dimension=1")
    value, number = seed
    start = module.op(kind, [], f"constant({value})"), module.op(place, [], f"constant({number})")
    both = module.line(f"({kind}[{rows}], {place}[{rows}])",
                       f"reduce({block}, {positions}, {start[0]}, {start[1]}), dimensions={{1}}, to_apply={form}_{direction.lower()}_{kind}_{place}")
    wanted = []
    for values in table:
        best = (float(value) if kind in FLOATS else int(value), number)
        for step, offered in enumerate(values):
            best = best if decide(beats, best, (offered, step)) else (offered, step)
        wanted.append(best)
    places = module.op(place, [rows], f"get-tuple-element({both}), index=1")
    chosen = module.op(kind, [rows], f"get-tuple-element({both}), index=0")
    module.result(places, place, [rows], [best[1] for best in wanted])
    module.result(chosen, kind, [rows], [best[0] for best in wanted])


LEAST = {"f32": ("-inf", "inf"), "f64": ("-inf", "inf"), "bf16": ("-inf", "inf"), "s32": (-2147483648, 2147483647), "u8": (0, 255)}
for form in FORMS:
    for direction in ORDERS:
        for kind in ("f32", "bf16", "s32"):
            check(form, direction, kind, "s32", (11, 203), (LEAST[kind][direction == "LT"], 0))
        check(form, direction, "f32", "u32", (3, 1000), (LEAST["f32"][direction == "LT"], 0))
for kind, place, shape in (("f64", "s32", (7, 131)), ("u8", "s32", (6, 77)), ("f32", "s64", (9, 64)), ("f32", "s32", (40, 10)),
                           ("f32", "s32", (1, 4097)), ("f32", "s32", (33, 20)), ("u8", "s64", (2, 333))):
    check("nan_first", "GT", kind, place, shape, (LEAST[kind][0], 0))
    check("nan_first", "LT", kind, place, shape, (LEAST[kind][1], 0))
# what is begun with: before all places, after some of them, as good as many, no number
for seed in ((20.5, 0), ("-inf", -1), (39.5, 7), ("nan", 3), ("-inf", 5)):
    for form in FORMS:
        check(form, "GT", "f32", "s32", (6, 150), seed)
module.run()
