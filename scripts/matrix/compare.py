"""How far two results may differ, and whether they do."""

import math

from .types import COMPLEX, FLOATS


EXACT = ("exact",)


def ulps(count):
    return ("ulps", count)


def bound(relative, absolute):
    """For sums: relative to the result plus absolute, in units of the type's last place at 1.  Terms are a few units large and a few
    hundred at most, so that partial sums reach some tens."""
    return ("bound", relative, absolute)


def scalar_differs(kind, rule, want, got):
    """None, or how far apart they are."""
    if kind not in FLOATS:
        return None if want == got else abs(want - got)
    if math.isnan(want) or math.isnan(got):
        return None if math.isnan(want) and math.isnan(got) else math.inf
    if want == got:
        return None if rule != EXACT or math.copysign(1, want) == math.copysign(1, got) else 0.0
    if rule == EXACT or math.isinf(want) or math.isinf(got):
        mantissa, low, largest, _ = FLOATS[kind]
        # Next to overflow a unit decides between the largest number and infinity.
        if rule != EXACT and math.isinf(want) != math.isinf(got):
            finite = got if math.isinf(want) else want
            return None if abs(finite) >= largest * (1 - 2.0 ** (3 - mantissa)) and (finite > 0) == (want + got > 0) else math.inf
        return abs(want - got)
    mantissa, low, _, _ = FLOATS[kind]
    if rule[0] == "bound":
        return None if abs(want - got) <= 2.0 ** -mantissa * (rule[1] * abs(want) + rule[2]) else abs(want - got)
    unit = 2.0 ** (max(math.frexp(want)[1] - 1, low) - mantissa)
    error = abs(want - got) / unit
    return None if error <= rule[1] else error


def first_difference(kind, rule, want, got):
    """(index, wanted, found, distance) of the worst element, or None."""
    if len(want) != len(got):
        return -1, len(want), len(got), math.inf
    worst = None
    for i, (a, b) in enumerate(zip(want, got)):
        if kind in COMPLEX:
            part = COMPLEX[kind][0]
            size = math.hypot(*a)
            errors = [scalar_differs(part, rule, x, y) for x, y in zip(a, b)]
            if rule != EXACT and math.isfinite(size):  # relative to the whole number
                limit = (rule[1] + (rule[2] if rule[0] == "bound" else 0)) * 2.0 ** -FLOATS[part][0] * max(size, 1e-30)
                errors = [None if e is None or abs(x - y) <= limit else e for e, x, y in zip(errors, a, b)]
            error = max((e for e in errors if e is not None), default=None)
        else:
            error = scalar_differs(kind, rule, a, b)
        if error is not None and (worst is None or error > worst[3]):
            worst = (i, a, b, error)
    return worst


def rule_of(kind, units):
    if units == 0:
        return EXACT
    return ulps(units if kind in ("f32", "f64") else 1)
