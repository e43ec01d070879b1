"""Where xlac means to give other results than XLA:CPU, and why: the table of docs/numerics.md.

First of all, code that flushes subnormal numbers makes zeros of them where XLA happens to pass them on, and the other way round: results that
are subnormal or zero agree with each other.
"""

import collections
import math
import re
import struct

from .compare import bound, ulps
from .types import COMPLEX, FLOATS, extremes

# |meant|: of kind, XLA's element, ours, and the elements of |operands| operands: whether it is this difference.
Difference = collections.namedtuple("Difference", "cases what operands meant")
# |rule|: in place of the case's own.
Looser = collections.namedtuple("Looser", "cases what rule")


def is_tiny(kind, value):
    """Subnormal where subnormal numbers are flushed, or zero."""
    return kind in ("f32", "f64", "bf16") and abs(value) < 2.0 ** FLOATS[kind][1]


def is_subnormal(kind, value):
    return is_tiny(kind, value) and value != 0


def is_finite(kind, value):
    return all(math.isfinite(part) for part in value) if kind in COMPLEX else math.isfinite(value)


DIFFERENCES = [
    Difference(r"cbrt/", "`cbrt` of a subnormal number: XLA gives -5.6e-16, xlac a zero", 1,
               lambda kind, want, got, x: is_subnormal(kind, x)),
    Difference(r"(^|/)log/", "`log` of a negative subnormal number: XLA gives NaN or -inf, xlac -inf", 1,
               lambda kind, want, got, x: is_subnormal(kind, x) and x < 0 and got == -math.inf),
    Difference(r"power/[bf]", "`power` with a subnormal operand: a zero in xlac, in XLA not yet", 2,
               lambda kind, want, got, x, y: is_subnormal(kind, x) or is_subnormal(kind, y) and got == 1),
    Difference(r"atan2/[bf]", "`atan2` with a subnormal operand: XLA gives NaN or the other sign, xlac what a zero of its sign gives", 2,
               lambda kind, want, got, x, y: is_subnormal(kind, x) or is_subnormal(kind, y)),
    Difference(r"power/[su]", "integer `power`: XLA looks at six bits of the exponent and takes large unsigned ones for negative; xlac at all of it", 2,
               lambda kind, want, got, x, y: not 0 <= y < 64),
    Difference(r"popcnt/s4", "`popcnt` of a negative number of 4 bits: XLA counts in 8", 1,
               lambda kind, want, got, x: x < 0 and got == bin(x & 15).count("1")),
    Difference(r"convert/f4e2m1fn-[su]", "floats of 4 bits to integers: XLA gives the largest or the least integer, xlac the number", 0,
               lambda kind, want, got: want in extremes(kind)),
    Difference(r"convert/bf16-pred", "subnormal bf16 to pred, where they are flushed: true in XLA, false in xlac, as for f32 in both", 0,
               lambda kind, want, got: want and not got),
    Difference(r"mixed/.*c64", "sums of complex products as pred or integers that do not hold them: XLA keeps the lowest bits of the whole part, "
               "xlac says whether it is 0 or takes the nearest integer", 0,
               lambda kind, want, got: kind == "pred" or got in extremes(kind)),
    Difference(r"multiply/c", "products of complex numbers that overflow: infinite or NaN, as their order and roundings have it", 0,
               lambda kind, want, got: not is_finite(kind, want) and not is_finite(kind, got))]

LOOSER = [
    Looser(r"map/f32|^multiply/c", "products that are added: in XLA one fused multiply-add, in xlac two roundings", bound(4, 8)),
    Looser(r"log-plus-one/f64", "`log-plus-one` of f64: XLA's is off by up to 55 units", ulps(60)),
    Looser(r"(exponential-minus-one|logistic)/f16", "`exponential-minus-one` and `logistic` of f16: XLA's are off by up to 2 units", ulps(2)),
    Looser(r"sqrt/f8e3m4", "`sqrt` of f8e3m4: XLA rounds to f16 and then again", ulps(1))]


def operands_of(case, number):
    """The values of the parameters of the result |number| where each result has its own, as elementwise cases have."""
    if case.name.startswith("every/") and case.name.endswith("/bf16"):
        return [struct.unpack(f"<{1 << 16}f", b"".join(struct.pack("<I", bits << 16) for bits in range(1 << 16)))]
    count, rest = divmod(len(case.parameters), len(case.results))
    own = case.parameters[number * count:(number + 1) * count]
    is_own = rest == 0 and all(parameter.dims == case.results[number].dims for parameter in own)
    return [parameter.values for parameter in own] if is_own else []


def is_meant(case, kind, want, got, operands):
    if kind in FLOATS and is_tiny(kind, want) and is_tiny(kind, got):
        return True
    return any(re.search(difference.cases, case.name) and len(operands) >= difference.operands and
               difference.meant(kind, want, got, *operands[:difference.operands]) for difference in DIFFERENCES)


def same(want, got):
    return want == got or want != want and got != got


def wanted_of(case, recorded, found):
    """(rule, values) by recorded result: what |found| is to be compared with, XLA's values but where xlac means to differ."""
    rule = next((looser.rule for looser in LOOSER if re.search(looser.cases, case.name)), case.rule)
    numbers = [number for number, result in enumerate(case.results) if result.is_recorded]
    wanted = []
    for number, wants, gots in zip(numbers, recorded, found):
        kind, operands = case.results[number].kind, operands_of(case, number)
        wanted.append((rule, [got if not same(want, got) and is_meant(case, kind, want, got, [values[i] for values in operands]) else want
                              for i, (want, got) in enumerate(zip(wants, gots))]))
    return wanted


def rows():
    """Of the table in docs/numerics.md."""
    return [entry.what for entry in DIFFERENCES + LOOSER]
