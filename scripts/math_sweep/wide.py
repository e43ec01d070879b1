"""f64 and complex numbers: arguments of all sizes, against mpmath."""

import cmath
import math
import random
import struct
import zipfile

from matrix.npy import npy_bytes, npz_values
from matrix.types import COMPLEX, FLOATS, rounded

from .engines import own_results, their_results

COUNTS = {"f64": 1 << 17, "c64": 1 << 14, "c128": 1 << 14}
BITS = 160  # that mpmath computes with

# A function of an argument that stays the same through it, so that XLA has the opcode in a fusion: there it runs more of them.
FUNCTION = """HloModule function
ENTRY e {{
  x = {kind}[{count}] parameter(0)
  f = {result}[{count}] {function}(x)
  size = {part}[{count}] {size}(x)
  is_number = pred[{count}] compare(size, size), direction=EQ
  none = {result}[] constant({none})
  nones = {result}[{count}] broadcast(none), dimensions={{}}
  ROOT chosen = {result}[{count}] select(is_number, f, nones)
}}
"""


def exact_functions():
    from mpmath import mp
    mp.prec = BITS
    return {
        "exponential": mp.exp, "exponential-minus-one": mp.expm1, "log": mp.log, "log-plus-one": mp.log1p, "tanh": mp.tanh,
        "logistic": lambda x: 1 / (1 + mp.exp(-x)), "sine": mp.sin, "cosine": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos,
        "sinh": mp.sinh, "cosh": mp.cosh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh, "erf": mp.erf, "erfc": mp.erfc, "sqrt": mp.sqrt,
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "rsqrt": lambda x: 1 / mp.sqrt(x), "abs": abs, "sign": lambda x: x / abs(x)}


# ---- arguments ----

def of_all_sizes(rng):
    return struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]


def of_usual_size(rng):
    return math.ldexp(rng.choice((-1, 1)) * (1 + rng.random()), rng.randint(-30, 11))


def arguments_of(kind):
    """f64: half over all exponents, half of usual size; complex numbers: half of parts of usual size, half next to the unit circle."""
    rng, values = random.Random(kind), []
    while len(values) < COUNTS[kind]:
        if kind not in COMPLEX:
            values += [value for value in (of_all_sizes(rng), of_usual_size(rng)) if math.isfinite(value)]
            continue
        part, angle = COMPLEX[kind][0], rng.uniform(-math.pi, math.pi)
        near = cmath.rect(1 + of_usual_size(rng) * 2.0 ** -12, angle)
        values += [(rounded(part, value.real), rounded(part, value.imag))
                   for value in (complex(of_usual_size(rng), of_usual_size(rng)), near) if value.real and value.imag]
    return values[:COUNTS[kind]]


# ---- errors ----

def number_of(value):
    from mpmath import mpc, mpf
    return mpc(*value) if isinstance(value, tuple) else mpf(value)


def wanted(function, kind, values):
    """By argument: what is right, None where there is no finite number."""
    from mpmath import mp, mpc
    exact, results = exact_functions()[function], []
    most = FLOATS[COMPLEX[kind][0] if kind in COMPLEX else kind][2]
    for value in values:
        try:
            want = exact(number_of(value))
        except (ValueError, ZeroDivisionError, OverflowError):
            want = mp.nan
        is_real = kind in COMPLEX or not isinstance(want, mpc)
        results.append(want if is_real and mp.isfinite(want) and abs(want) < most * (1 - 2.0 ** -20) else None)
    return results


def units(part, want, got):
    """Between |got| and |want|, in the last place of a number of the size of |want|; of a complex number, that of the worse part."""
    if not all(map(math.isfinite, got if isinstance(got, tuple) else (got,))):
        return math.inf
    from mpmath import mp
    mantissa, low, _, _ = FLOATS[part]
    exponent = max(mp.frexp(abs(want))[1] - 1, low) if want else low
    distance = number_of(got) - want
    return float(max(abs(distance.real), abs(distance.imag)) / mp.mpf(2) ** (exponent - mantissa))


def worst(kind, values, wants, gots, is_flushed):
    """(units, argument); |is_flushed|: but where argument or result are subnormal."""
    part, largest = COMPLEX[kind][0] if kind in COMPLEX else kind, (0.0, None)
    tiny = 2.0 ** FLOATS[part][1] if is_flushed else 0
    for value, want, got in zip(values, wants, gots):
        if want is not None and abs(want) >= tiny and abs(number_of(value)) >= tiny:
            largest = max(largest, (units(part, want, got), value), key=lambda pair: pair[0])
    return largest


def module_of(function, kind):
    is_complex = kind in COMPLEX
    result = COMPLEX[kind][0] if is_complex and function == "abs" else kind
    return FUNCTION.format(kind=kind, count=COUNTS[kind], function=function, result=result, part=COMPLEX[kind][0] if is_complex else kind,
                           size="real" if is_complex else "copy", none="(0, 0)" if result in COMPLEX else "0")


def errors(xlac, folder, function, kind, levels, reference=None):
    """(units, argument) of xlac, and of XLA or None."""
    values = arguments_of(kind)
    wants = wanted(function, kind, values)
    with zipfile.ZipFile(folder / "in.npz", "w") as archive:
        archive.writestr("p0.npy", npy_bytes(kind, (len(values),), values))
    text = module_of(function, kind)
    inputs = folder / "in.npz"
    own = max((worst(kind, values, wants, own_results(xlac, folder, text, f"--inputs={inputs}", f"--mcpu={level}")["r0"], False)
               for level in levels), key=lambda pair: pair[0])
    path = their_results(reference, folder, text, "--inputs", inputs) if reference else None
    return own, worst(kind, values, wants, npz_values(path)["r0"], True) if path else None
