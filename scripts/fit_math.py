#!/usr/bin/env python3
"""Derives the polynomials of codegen/vec's mathematical functions.

  scripts/fit_math.py          writes codegen/vec/math_fits.c (then: make format)
  scripts/fit_math.py --check  only reports the error of every fit

Needs mpmath.  Each fit is the weighted least-squares polynomial over Chebyshev points, computed with 60 digits and rounded to f64: within
a factor of two of the least possible maximum error.  The error printed is that of the rounded polynomial against its own weight, as a
power of two.
"""

import pathlib
import struct
import sys

from mpmath import mp, mpf, asin, atan, cos, erf, erfc, exp, log, matrix, pi, qr_solve, sin, sqrt, tanh

mp.dps = 60
POINTS = 3  # per coefficient


def series(term, z):
    """sum of term(k) z^k, for |z| < 1/2."""
    total, power, k = mpf(0), mpf(1), 0
    while True:
        part = term(k) * power
        total += part
        if abs(part) < mpf(10) ** -58 * max(abs(total), mpf(10) ** -20):
            return total
        power *= z
        k += 1


def factorial_tail(first, sign=1):
    """1/first! + x/(first+1)! …, in steps of one (sign 1) or, with alternating signs, of two (sign -1)."""
    step = 1 if sign == 1 else 2

    def value(x):
        return series(lambda k: mpf(sign) ** k / mp.factorial(first + step * k), x)

    return value


# The nearest multiple of it is found by additions alone.
TANH_STEP = 1 / 2
ROOT = sqrt(mpf(2))
QUARTER = (pi / 4) ** 2
Z_LOG = ((ROOT - 1) / (ROOT + 1)) ** 2
Z_ATAN = (ROOT - 1) ** 2
UNIT = lambda x: mpf(1)


def odd_rest(function):
    """(f(x) - x) / x³ as a function of z = x², z > 0."""

    def value(z):
        x = sqrt(z)
        return (function(x) - x) / (x * z)

    return value


def erfc_scaled(u):
    """erfc(x) exp(x²), x = 2 (1 + u) / (1 - u)."""
    x = 2 * (1 + u) / (1 - u)
    return erfc(x) * exp(x * x)


def far(u):
    return erfc(2 * (1 + u) / (1 - u)) / erfc_scaled(u)


def erfc_over(center):
    """erfc(x) exp(x²) as a function of u = (x - center) / (x + center)."""

    def value(u):
        x = center * (1 + u) / (1 - u)
        return erfc(x) * exp(x * x)

    return value


def place_over(center, x):
    return (mpf(x) - center) / (mpf(x) + center)


# name, comment, function, lower, upper, coefficients, weight of the error (1: absolute)
LOG_TAIL = lambda f: series(lambda k: mpf(-1) ** k / (k + 3), f)
LOG_REST = lambda r: series(lambda k: mpf(-1) ** (k + 1) / (k + 2), r)
FITS = [
    ("exp_single", "(exp r - 1 - r) / r², |r| <= ln 2 / 2", factorial_tail(2), -0.3470, 0.3470, 5, lambda r: r * r),
    ("exp_sixteenth", "the same, |r| <= ln 2 / 32", factorial_tail(2), -0.02168, 0.02168, 2, lambda r: r * r),
    ("exp_sixteenth_double", "the same", factorial_tail(2), -0.02168, 0.02168, 5, lambda r: r * r),
    ("exp_middle", "(exp r - 1 - r) / r², |r| <= ln 2 / 2", factorial_tail(2), -0.3467, 0.3467, 6, lambda r: r * r),
    ("exp_double", "the same", factorial_tail(2), -0.3467, 0.3467, 10, lambda r: r * r),
    ("log_single", "(log(1 + f) - f + f²/2) / f³, 3/4 <= 1 + f <= 3/2", LOG_TAIL, -0.25, 0.5, 9, lambda f: f * f),
    ("log_piece", "(log(1 + r) - r) / r², -0.0174 <= r <= 1/32", LOG_REST, -0.0174, 0.03126, 3, lambda r: max(abs(r), mpf(2) ** -12)),
    ("log_piece_middle", "the same, -0.0372 <= r <= 1/16", LOG_REST, -0.0372, 0.0626, 6, lambda r: max(abs(r), mpf(2) ** -12)),
    ("log_piece_double", "the same", LOG_REST, -0.0372, 0.0626, 10, lambda r: max(abs(r), mpf(2) ** -12)),
    ("log_piece_pair", "(log(1 + r) - r + r²/2 - r³/3) / r⁴, -0.0372 <= r <= 1/16", lambda r: series(lambda k: mpf(-1) ** (k + 1) / (k + 4), r), -0.0372, 0.0626, 9, lambda r: abs(r) ** 3 + mpf(2) ** -30),
    ("log_middle", "(log((1 + s) / (1 - s)) - 2s) / s³ in s²", lambda z: series(lambda k: mpf(2) / (2 * k + 3), z), 0, Z_LOG, 5, lambda z: z / 2),
    ("log_double", "the same", lambda z: series(lambda k: mpf(2) / (2 * k + 3), z), 0, Z_LOG, 7, lambda z: z / 2),
    ("log_pair", "the same without its first term 2/3, over s²", lambda z: series(lambda k: mpf(2) / (2 * k + 5), z), 0, Z_LOG, 8, lambda z: z * z / 2),
    ("sin_double", "(sin r - r) / r³ in r², |r| <= π/4", lambda z: -factorial_tail(3, -1)(z), 0, QUARTER * 1.00001, 7, lambda z: z),
    ("sin_middle", "the same", lambda z: -factorial_tail(3, -1)(z), 0, QUARTER * 1.00001, 4, lambda z: z),
    ("cos_middle", "(cos r - 1 + r²/2) / r⁴ in r²", factorial_tail(4, -1), 0, QUARTER * 1.00001, 4, lambda z: z * z),
    ("cos_double", "the same", factorial_tail(4, -1), 0, QUARTER * 1.00001, 6, lambda z: z * z),
    ("atan_middle", "(atan t - t) / t³ in t², |t| <= tan(π/8)", lambda z: series(lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), z), 0, Z_ATAN, 6, lambda z: z),
    ("atan_double", "the same", lambda z: series(lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), z), 0, Z_ATAN, 11, lambda z: z),
    ("asin_middle", "(asin s - s) / s³ in s², |s| <= 1/2", odd_rest(asin), 1e-12, 0.25, 7, lambda z: z),
    ("asin_double", "the same", odd_rest(asin), 1e-12, 0.25, 13, lambda z: z),
    ("tanh_single", "(tanh t - t) / t³ in t², |t| <= half a step", odd_rest(tanh), 0, (TANH_STEP / 2 + 1e-4) ** 2, 3, lambda z: z),
    ("tanh_double", "(tanh x - x) / x³ in x², |x| <= 0.55", odd_rest(tanh), 0, 0.3026, 11, lambda z: z),
    ("erf_single", "log(erfc -x) / x - 1, -3.95 <= x < 0", lambda x: log(erfc(-x)) / x - 1, -3.95, -1e-6, 9, lambda x: x * erfc(-x) / erf(x)),
    ("erf_near_double", "erf x / x - 1 in x², |x| <= 1", lambda z: erf(sqrt(z)) / sqrt(z) - 1, 0, 1, 12, UNIT),
    ("erf_far_double", "erfc(x) exp(x²) in (x - 2) / (x + 2), 1 <= x <= 6", erfc_scaled, -mpf(1) / 3, mpf(1) / 2, 15, far),
    ("erfc_single", "erfc(x) exp(x²) in (x - 3) / (x + 3), 0 <= x <= 10.07", erfc_over(3), -1, place_over(3, 10.07), 11, lambda u: 1 / erfc_over(3)(u)),
    ("erfc_double", "erfc(x) exp(x²) in (x - 5) / (x + 5), 0.5 <= x <= 27.3", erfc_over(5), place_over(5, 0.5), place_over(5, 27.3), 22, lambda u: 1 / erfc_over(5)(u)),
    ("cbrt", "cube root of 1 <= m <= 2", lambda m: mp.cbrt(m), 1, 2, 5, UNIT),
]


def sine_rest(z):
    """sin r / r - 1 as a function of z = r²."""
    return sin(sqrt(z)) / sqrt(z) - 1 if z > 0 else mpf(0)


# name, comment, function of z, 0 at 0, upper, degree, the centers to choose from, weight of the error: polynomials in z - center whose terms are
# floats.  A center between 1/2 and 3/4 leaves the terms that are rounded small at both ends.
CENTERED = [
    ("sin_half_turn", "sin r / r - 1 in r² - center, |r| <= π/2", sine_rest, (pi / 2) ** 2 * 1.00001, 4, [mpf(k) / 64 for k in range(32, 49)],
     lambda z: 1 / (1 + sine_rest(z))),
]


# name, comment, function, step, degree, whether it is 0 at 0.  Where a function begins at 0 it is found to so many digits there, too.  The step is
# one for which the values at the middles of the first pieces are nearly floats.
PIECES = [
    ("erf", "erf", erf, 1046 / 4096, 5, True),
    ("erfc", "erfc(x) exp(x²)", lambda x: erfc(x) * exp(x * x), 2662 / 4096, 7, False),
]


# 32 c for pieces of x between 3/4 and 3/2 whose first four digits after the leading one are k: so few digits, and so near to 1/x, that c·x - 1 is a
# float of 53 digits.
LOG_FACTORS = [32, 29, 28, 26, 25, 24, 23, 22, 42, 40, 39, 37, 36, 35, 34, 32]


def log_high_double(k):
    """-log c, as far as its sum with a multiple of the upper part of ln 2 is a float."""
    return mp.nint(-log(mpf(LOG_FACTORS[k]) / 32) * mpf(2) ** 42) / mpf(2) ** 42


# name, comment, values by index
TABLES = [
    ("power", "2^(k/16)", lambda k: mpf(2) ** (mpf(k) / 16)),
    ("power_low", "what these lack as f64", lambda k: mpf(2) ** (mpf(k) / 16) - mpf(float(mpf(2) ** (mpf(k) / 16)))),
    ("log_factor_double", "c, about 1/x where x between 3/4 and 3/2 has the first four digits k: c·x - 1 is exact", lambda k: mpf(LOG_FACTORS[k]) / 32),
    ("log_high_double", "multiples of 2^-42 next to -log c", log_high_double),
    ("log_low_double", "what these lack", lambda k: -log(mpf(LOG_FACTORS[k]) / 32) - log_high_double(k)),
]


def log_factor(k):
    """About 1/x in the middle of the piece of x between 3/4 and 3/2 whose first five digits after the leading one are k, of so few digits that
    c·x - 1 is nearly exact; 1 on both sides of 1."""
    middle, steps = ((1 + (k + 0.5) / 32), 128) if k < 16 else ((1 + (k + 0.5) / 32) / 2, 64)
    return 1.0 if k in (0, 31) else round(steps / middle) / steps


# ln 2 in two parts, as codegen/vec/vec_math_log.c multiplies the exponent by.
LN_2_HIGH, LN_2_LOW = float.fromhex("0x1.62ep-1"), float.fromhex("0x1.0bfbe8e8p-15")


def log_high(k):
    """-log of log_factor(k), as far as its sum with a multiple of the upper part of ln 2 is a float; and that part where x is below 1, since its
    exponent is one less."""
    return float(mp.nint(-log(mpf(log_factor(k))) * 65536)) / 65536 + LN_2_HIGH * (k >= 16)


def log_low(k):
    """What log_high(k) lacks."""
    return -log(mpf(log_factor(k))) - mpf(log_high(k)) + (mpf(LN_2_HIGH) + mpf(LN_2_LOW)) * (k >= 16)


# The same with 32 values.
LONG_TABLES = [
    ("tanh", "tanh of halves", lambda k: tanh(k * mpf(TANH_STEP))),
    ("log_factor", "c, about 1/x where x between 3/4 and 3/2 has the first five digits k", log_factor),
    ("log_high", "multiples of 2^-16 next to -log c, more by the upper part of ln 2 where x is below 1", log_high),
    ("log_low", "what these lack, with the lower part", log_low),
]


def fit(function, lower, upper, count, weight):
    lower, upper = mpf(lower), mpf(upper)
    total = POINTS * count + 1
    points = [(lower + upper) / 2 + (upper - lower) / 2 * cos(pi * (2 * i + 1) / (2 * total)) for i in range(total)]
    middle, radius = (lower + upper) / 2, (upper - lower) / 2
    rows, values = [], []
    for x in points:
        w = weight(x)
        rows.append([w * x**k for k in range(count)])
        values.append(w * function(x))
    solution, _ = qr_solve(matrix(rows), matrix(values))
    coefficients = [float(solution[k]) for k in range(count)]
    worst = mpf(0)
    for i in range(400):
        x = middle + radius * cos(pi * (2 * i + 1) / 800)
        worst = max(worst, abs((value_of(coefficients, x) - function(x)) * weight(x)))
    return coefficients, float(mp.log(worst, 2))


def single(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def fit_piece(function, lower, upper, middle, degree, first):
    """Coefficients of powers of x - middle, all floats: each is rounded before those of higher powers are fitted.  The first, when given, is set."""
    found = [] if first is None else [mpf(first)]
    total = POINTS * (degree + 1) + 1
    points = [(lower + upper) / 2 + (upper - lower) / 2 * cos(pi * (2 * i + 1) / (2 * total)) for i in range(total)]
    while len(found) <= degree:
        rows, values = [], []
        for x in points:
            t, weight = x - middle, 1 / function(x)
            rows.append([weight * t**k for k in range(len(found), degree + 1)])
            values.append(weight * (function(x) - sum(c * t**k for k, c in enumerate(found))))
        solution, _ = qr_solve(matrix(rows), matrix(values))
        found.append(mpf(single(solution[0])))
    value = lambda x: sum(c * (x - middle) ** k for k, c in enumerate(found))
    worst = max(abs(value(x) / function(x) - 1) for x in (lower + (upper - lower) * (2 * i + 1) / 100 for i in range(50)))
    return [float(c) for c in found], worst


def value_of(coefficients, x):
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def float_value_of(coefficients, x):
    """The same as a chain of fused multiply-adds of f32 gives it, but for the rounding of the last."""
    value = coefficients[-1]
    for c in reversed(coefficients[1:-1]):
        value = mpf(single(value * x + c))
    return value * x + coefficients[0]


def least_maximum(points, values, weights, count):
    """The polynomial of |count| terms with nearly the least largest error: Lawson's, where the points with larger errors count more each time."""
    counts = [mpf(1)] * len(points)
    for _ in range(12):
        scales = [w * sqrt(c) for w, c in zip(weights, counts)]
        rows = matrix([[s * x**k for k in range(count)] for x, s in zip(points, scales)])
        found, _ = qr_solve(rows, matrix([s * v for v, s in zip(values, scales)]))
        errors = [abs(w * (value_of(found, x) - v)) for x, v, w in zip(points, values, weights)]
        counts = [c * e / max(errors) + mpf(10) ** -9 for c, e in zip(counts, errors)]
    return found


def fit_centered(function, upper, degree, centers, weight):
    """The center and the coefficients, floats from the lowest power up, with the least error among those that are 0, or a rounding above it,
    at 0; and that error."""
    total = 8 * (degree + 1)
    points = [upper * (1 + cos(pi * (2 * i + 1) / (2 * total))) / 2 for i in range(total)]
    values, weights, best = [function(z) for z in points], [weight(z) for z in points], None
    for center in centers:
        found = {}
        distances = [z - center for z in points]
        for power in range(degree, -1, -1):
            rest = [v - sum(c * x**k for k, c in found.items()) for x, v in zip(distances, values)]
            found[power] = mpf(single(least_maximum(distances, rest, weights, power + 1)[power]))
        coefficients = [found[k] for k in range(degree + 1)]
        worst = max(abs(w * (value_of(coefficients, x) - v)) for x, v, w in zip(distances, values, weights))
        if 0 <= float_value_of(coefficients, -center) < mpf(2) ** -26 and (best is None or worst < best[2]):
            best = center, coefficients, worst
    return float(best[0]), [float(c) for c in best[1]], float(mp.log(best[2], 2))


def fit_pieces(function, step, degree, is_odd):
    """For each of 16 pieces the coefficients, and the largest relative error."""
    pieces, worst = [], mpf(0)
    for index in range(16):
        middle, half = index * mpf(step), mpf(step) / 2
        first = 0.0 if is_odd and index == 0 else None
        found, error = fit_piece(function, max(middle - half, mpf(10) ** -8), middle + half, middle, degree, first)
        pieces.append(found)
        worst = max(worst, error)
    return pieces, float(mp.log(worst, 2))


def main():
    lines = ["/* Made by scripts/fit_math.py, which says what each of them approximates; from the highest power down. */",
             '#include "codegen/vec/math_fits.h"', ""]
    for name, comment, function, lower, upper, count, weight in FITS:
        coefficients, error = fit(function, lower, upper, count, weight)
        print(f"{name:18} {count:3} terms, error 2^{error:.1f}")
        terms = ", ".join(float(c).hex() for c in reversed(coefficients))
        lines += [f"/* {comment}: error 2^{error:.1f} */", f"const MathFit fit_{name} = {{{count}, {{{terms}}}}};", ""]
    for name, comment, function, upper, degree, centers, weight in CENTERED:
        center, coefficients, error = fit_centered(function, upper, degree, centers, weight)
        print(f"{name:18} {degree + 1:3} terms about {center}, error 2^{error:.1f}")
        terms = ", ".join(c.hex() for c in reversed(coefficients))
        lines += [f"/* {comment}: error 2^{error:.1f} with the rounding of the terms */",
                  f"const MathCenteredFit fit_{name} = {{{center.hex()}, {{{degree + 1}, {{{terms}}}}}}};", ""]
    for name, comment, value in TABLES:
        terms = ", ".join(float(value(k)).hex() for k in range(16))
        lines += [f"/* {comment} */", f"const MathTable table_{name} = {{{{{terms}}}}};", ""]
    for name, comment, value in LONG_TABLES:
        terms = ", ".join(float(value(k)).hex() for k in range(32))
        lines += [f"/* {comment} */", f"const MathLongTable table_{name} = {{{{{terms}}}}};", ""]
    for name, comment, function, step, degree, is_odd in PIECES:
        pieces, error = fit_pieces(function, step, degree, is_odd)
        print(f"{name:18} {degree + 1:3} terms in pieces, error 2^{error:.1f}")
        rows = ", ".join("{{" + ", ".join(piece[k].hex() for piece in pieces) + "}}" for k in range(degree, -1, -1))
        lines += [f"/* {comment}: error 2^{error:.1f} with the rounding of the terms */",
                  f"const MathPieces pieces_{name} = {{{step.hex()}, {degree + 1}, {{{rows}}}}};", ""]
    if "--check" not in sys.argv:
        path = pathlib.Path(__file__).resolve().parent.parent / "codegen/vec/math_fits.c"
        path.write_text("\n".join(lines[:-1]) + "\n")


main()
