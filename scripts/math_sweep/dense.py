"""f32: a dense sweep, a loop over chunks in compiled code that keeps the worst argument."""

import itertools
import math
import re
import struct
import zipfile

from .engines import own_results, their_results

MOST, TINY = 3.4028234663852886e38, 2.0 ** -126  # the largest number, the smallest normal one
CHUNK = 1 << 15  # arguments at once
SAMPLE = 65537  # the stride that the reference itself is measured with
REFERENCE_BOUND = 2.0 ** -20  # units of f32

ERROR = [  # name, type, expression; numbers in <> are constants
    ("got_size", "f64", "abs(got)"), ("want_size", "f64", "abs(want)"),
    # One unit in the last place of what is wanted, as an f32.
    ("word", "u64", "bitcast-convert(want_size)"), ("exponent", "u64", "shift-right-logical(word, <u64 52>)"),
    ("clamped", "u64", f"maximum(exponent, <u64 {1023 - 126}>)"), ("lower", "u64", "subtract(clamped, <u64 23>)"),
    ("unit_word", "u64", "shift-left(lower, <u64 52>)"), ("unit", "f64", "bitcast-convert(unit_word)"),
    ("distance", "f64", "subtract(got, want)"), ("units", "f64", "divide(distance, unit)"), ("plain", "f64", "abs(units)"),
    # Where one of them overflows: both have to be within a unit of that, on the same side.
    ("want_over", "pred", f"compare(want_size, <f64 {MOST * (1 + 2.0 ** -25)!r}>), direction=GE"),
    ("got_over", "pred", "compare(got_size, <f64 inf>), direction=EQ"), ("overflows", "pred", "or(want_over, got_over)"),
    ("want_near", "pred", f"compare(want_size, <f64 {MOST * (1 - 2.0 ** -23)!r}>), direction=GE"),
    ("got_near", "pred", f"compare(got_size, <f64 {MOST * (1 - 2.0 ** -23)!r}>), direction=GE"),
    ("want_below", "pred", "compare(want, <f64 0>), direction=LT"), ("got_below", "pred", "compare(got, <f64 0>), direction=LT"),
    ("same_side", "pred", "compare(want_below, got_below), direction=EQ"), ("near", "pred", "and(want_near, got_near)"),
    ("is_fine", "pred", "and(near, same_side)"), ("edge", "f64", "select(is_fine, <f64 0>, <f64 inf>)"),
    ("number", "f64", "select(overflows, edge, plain)"),
    # NaN has to meet NaN.
    ("got_nan", "pred", "compare(got, got), direction=NE"), ("want_nan", "pred", "compare(want, want), direction=NE"),
    ("both_nan", "pred", "and(got_nan, want_nan)"), ("any_nan", "pred", "or(got_nan, want_nan)"),
    ("of_nan", "f64", "select(both_nan, <f64 0>, <f64 inf>)"), ("error_of_all", "f64", "select(any_nan, of_nan, number)")]
OF_ALL = [("error", "f64", "copy(error_of_all)")]
OF_NORMAL = [  # where neither the argument nor the result is subnormal
    ("wide_size", "f64", "abs(wide)"), ("x_tiny", "pred", f"compare(wide_size, <f64 {TINY!r}>), direction=LT"),
    ("want_tiny", "pred", f"compare(want_size, <f64 {TINY!r}>), direction=LT"), ("tiny", "pred", "or(x_tiny, want_tiny)"),
    ("error", "f64", "select(tiny, <f64 0>, error_of_all)")]

SWEEP = """HloModule sweep
larger {{
  e0 = f64[] parameter(0)
  b0 = u32[] parameter(1)
  e1 = f64[] parameter(2)
  b1 = u32[] parameter(3)
  is_first = pred[] compare(e0, e1), direction=GE
  e = f64[] select(is_first, e0, e1)
  b = u32[] select(is_first, b0, b1)
  ROOT both = (f64[], u32[]) tuple(e, b)
}}
body {{
  state = (u32[], f64[], u32[], {given}) parameter(0)
  i = u32[] get-tuple-element(state), index=0
  worst = f64[] get-tuple-element(state), index=1
  at = u32[] get-tuple-element(state), index=2
  given = {given} get-tuple-element(state), index=3
  one = u32[] constant(1)
  next = u32[] add(i, one)
  chunk = u32[] constant({chunk})
  begin = u32[] multiply(i, chunk)
  begins = u32[{chunk}] broadcast(begin), dimensions={{}}
  places = u32[{chunk}] iota(), iota_dimension=0
  numbers = u32[{chunk}] add(begins, places)
{lines}
  found = (f64[], u32[]) reduce(error, bits, worst, at), dimensions={{0}}, to_apply=larger
  new_worst = f64[] get-tuple-element(found), index=0
  new_at = u32[] get-tuple-element(found), index=1
  ROOT new = (u32[], f64[], u32[], {given}) tuple(next, new_worst, new_at, given)
}}
condition {{
  state = (u32[], f64[], u32[], {given}) parameter(0)
  i = u32[] get-tuple-element(state), index=0
  n = u32[] constant({chunks})
  ROOT goes_on = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  zero = u32[] constant(0)
  none = f64[] constant(0)
  given = {given} parameter(0)
  start = (u32[], f64[], u32[], {given}) tuple(zero, none, zero, given)
  end = (u32[], f64[], u32[], {given}) while(start), condition=condition, body=body
  worst = f64[] get-tuple-element(end), index=1
  at = u32[] get-tuple-element(end), index=2
  ROOT both = (f64[], u32[]) tuple(worst, at)
}}
"""

FUNCTION = """HloModule function
ENTRY e {{
  i = u32[{count}] iota(), iota_dimension=0
  s = u32[] constant({stride})
  t = u32[{count}] broadcast(s), dimensions={{}}
  bits = u32[{count}] multiply(i, t)
  x = f32[{count}] bitcast-convert(bits)
{lines}
}}
"""


def instructions(rows):
    """Text of |rows| on all arguments of a chunk."""
    text, numbers = [], itertools.count()
    for name, kind, expression in rows:
        for constant_kind, value in re.findall(r"<(\w+) ([^>]*)>", expression):
            constant = f"c{next(numbers)}"
            text.append(f"  {constant} = {constant_kind}[] constant({value})")
            text.append(f"  {constant}_all = {constant_kind}[{CHUNK}] broadcast({constant}), dimensions={{}}")
            expression = expression.replace(f"<{constant_kind} {value}>", f"{constant}_all", 1)
        text.append(f"  {name} = {kind}[{CHUNK}] {expression}")
    return "\n".join(text)


def arguments_of(stride):
    """Their number; a rest of a chunk is more of the same arguments."""
    return -(-((2 ** 32 - 1) // stride + 1) // CHUNK) * CHUNK


def sweep(function, stride, is_given=False):
    """A module that finds the worst argument, of |function| or of what the parameter holds in its place."""
    count = arguments_of(stride)
    got = f"dynamic-slice(given, begin), dynamic_slice_sizes={{{CHUNK}}}" if is_given else f"{function}(x)"
    rows = [("bits", "u32", f"multiply(numbers, <u32 {stride}>)"), ("x", "f32", "bitcast-convert(bits)"), ("wide", "f64", "convert(x)"),
            ("narrow_got", "f32", got), ("got", "f64", "convert(narrow_got)"), ("want", "f64", f"{function}(wide)")]
    return SWEEP.format(chunk=CHUNK, chunks=count // CHUNK, given=f"f32[{count if is_given else 0}]",
                        lines=instructions(rows + ERROR + (OF_NORMAL if is_given else OF_ALL)))


def worst_of(found):
    """(units, argument)"""
    return found["r0"][0], struct.unpack("<f", struct.pack("<I", found["r1"][0]))[0]


def own_error(xlac, folder, function, stride, level):
    return worst_of(own_results(xlac, folder, sweep(function, stride), f"--mcpu={level}", "--seed=1"))  # the parameter is empty


def their_error(xlac, folder, function, stride, reference):
    """XLA's, as own_error, or None."""
    count = arguments_of(stride)
    lines = f"  ROOT f = f32[{count}] {function}(x)"
    found = their_results(reference, folder, FUNCTION.format(count=count, stride=stride, lines=lines))
    if found is None:
        return None
    with zipfile.ZipFile(found) as archive, zipfile.ZipFile(folder / "given.npz", "w") as given:
        given.writestr("p0.npy", archive.read("r0.npy"))
    return worst_of(own_results(xlac, folder, sweep(function, stride, True), f"--inputs={folder / 'given.npz'}"))


def reference_error(xlac, folder, function):
    """The largest difference of the function in f64 from the evaluator's, in units of f32."""
    count = (2 ** 32 - 1) // SAMPLE + 1
    lines = f"  wide = f64[{count}] convert(x)\n  ROOT f = f64[{count}] {function}(wide)"
    text = FUNCTION.format(count=count, stride=SAMPLE, lines=lines)
    compiled, evaluated = (own_results(xlac, folder, text, f"--engine={engine}")["r0"] for engine in ("jit", "interpret"))
    return max(abs(a - b) / 2.0 ** max(math.frexp(b)[1] - 24, -149) for a, b in zip(compiled, evaluated) if math.isfinite(a) or math.isfinite(b))
