"""Reductions, windows, select-and-scatter."""

import math

from .case import size_of, text_of
from .compare import EXACT, bound
from .types import COMPLEX, FLOATS, INTS, KINDS, POSITIVE, RARE_FLOATS, extremes


SEEDED = "XLA may count an initial value that changes something more than once"


def neutral(kind, op):
    """The value that leaves others as they are."""
    if op in ("maximum", "minimum"):
        least, most = extremes(kind)
        return least if op == "maximum" else most
    value = {"add": 0, "multiply": 1, "or": 0, "and": -1}[op]
    if kind == "pred":
        return bool(value)
    if kind in COMPLEX:
        return (float(value), 0.0)
    if kind in FLOATS:
        return -0.0 if value == 0 else float(value)
    signed, bits = INTS[kind]
    return value % (1 << bits) - (1 << bits if signed and value % (1 << bits) >> bits - 1 else 0)


def reductions(table):
    shapes = [((33,), (0,)), ((5, 17), (1,)), ((5, 17), (0,)), ((5, 17), (0, 1)), ((3, 4, 65), (0, 2)), ((4, 0, 3), (1,)), ((129,), (0,)),
              ((2, 3, 4, 5), (1, 3)), ((7, 1), (1,)), ((300, 9), (0,)), ((9, 300), (1,))]
    for kind in KINDS:
        for op in ("add", "multiply", "maximum", "minimum", "and", "or"):
            if (op in ("and", "or")) != (kind == "pred") and not (kind in INTS and op in ("and", "or")):
                continue
            if kind in COMPLEX and op in ("maximum", "minimum") or kind == POSITIVE and op == "add":
                continue
            exact = op not in ("add", "multiply") or (kind not in FLOATS and kind not in COMPLEX)
            rule = EXACT if exact else bound(64, 512 if op == "add" else 1)
            reduction(table.case(f"reduce/{op}/{kind}", rule), op, kind, shapes, [neutral(kind, op)])
            reduction(table.case(f"reduce-init/{op}/{kind}", rule, SEEDED), op, kind, shapes, None)
    for kind in ("f32", "s32", "bf16"):
        argmax(table, kind)
    for kind in KINDS:
        windows(table, kind)


def combiner(case, op, kind):
    return case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"ROOT r = {kind}[] {op}(a, b)"])


def reduction(case, op, kind, shapes, init):
    """|init|: None for any values."""
    combine, style = combiner(case, op, kind), "edge" if case.rule == EXACT else "small"
    for dims, reduced in shapes:
        if op == "multiply" and size_of(dims) > 200:
            continue
        # What overflows depends on the order.
        if kind in RARE_FLOATS and case.rule != EXACT:
            style = "unit"
            if math.prod(dims[i] for i in reduced) > 9:
                continue
        operand = case.input(kind, dims, style)
        start = case.parameter(kind, (), init) if init else case.input(kind, (), "small")
        result = tuple(d for i, d in enumerate(dims) if i not in reduced)
        case.keep(kind, result, f"reduce({operand}, {start}), dimensions={{{','.join(map(str, reduced))}}}, to_apply={combine}")


def argmax(table, kind):
    case = table.case(f"argmax/{kind}")
    body = case.computation([
        f"a = {kind}[] parameter(0)", "i = s32[] parameter(1)", f"b = {kind}[] parameter(2)", "j = s32[] parameter(3)",
        "gt = pred[] compare(a, b), direction=GT", "ne = pred[] compare(a, a), direction=NE", "or1 = pred[] or(gt, ne)",
        "eq = pred[] compare(a, b), direction=EQ", "lt = pred[] compare(i, j), direction=LT", "tie = pred[] and(eq, lt)",
        "first = pred[] or(or1, tie)", f"v = {kind}[] select(or1, a, b)", "w = s32[] select(first, i, j)",
        f"ROOT t = ({kind}[], s32[]) tuple(v, w)"])
    for dims, dimension in (((33,), 0), ((5, 65), 1), ((65, 5), 0)):
        operand = case.input(kind, dims, "small")
        positions = case.add("s32", dims, f"iota(), iota_dimension={dimension}")
        low = case.parameter(kind, (), [-math.inf if kind in FLOATS else -(1 << 31)])
        zero = case.parameter("s32", (), [0])
        result = tuple(d for i, d in enumerate(dims) if i != dimension)
        both = case.add(f"({text_of(kind, result)}, {text_of('s32', result)})", None,
                        f"reduce({operand}, {positions}, {low}, {zero}), dimensions={{{dimension}}}, to_apply={body}")
        case.keep(kind, result, f"get-tuple-element({both}), index=0")
        case.keep("s32", result, f"get-tuple-element({both}), index=1")


def windows(table, kind):
    for op in ("and", "or") if kind == "pred" else ("add",) if kind in COMPLEX else ("maximum",) if kind == POSITIVE else ("add", "maximum"):
        exact = op != "add" or kind in INTS
        rule = EXACT if exact else bound(64, 64)
        window_reduction(table.case(f"reduce-window/{op}/{kind}", rule), op, kind, [neutral(kind, op)])
        window_reduction(table.case(f"reduce-window-init/{op}/{kind}", rule, SEEDED), op, kind, None)
    if kind == "pred" or kind in COMPLEX or kind == POSITIVE:
        return
    case = table.case(f"select-and-scatter/{kind}", EXACT if kind not in FLOATS else bound(16, 16))
    select = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", "ROOT r = pred[] compare(a, b), direction=GE"])
    add = combiner(case, "add", kind)
    for dims, window, places in (((33,), "size=3 stride=2", (16,)), ((8, 9), "size=2x3 stride=2x3", (4, 3)), ((7, 7), "size=3x3 pad=1_1x1_1", (7, 7))):
        operand, source, init = case.input(kind, dims, "small"), case.input(kind, places, "small"), case.parameter(kind, (), [0])
        case.keep(kind, dims, f"select-and-scatter({operand}, {source}, {init}), window={{{window}}}, select={select}, scatter={add}")


def window_reduction(case, op, kind, init):
    combine = combiner(case, op, kind)
    for dims, window, result in (((33,), "size=3", (31,)), ((33,), "size=3 stride=2 pad=1_1", (17,)), ((17,), "size=17 pad=16_0", (17,)),
                                 ((9, 11), "size=2x3 stride=2x1", (4, 9)), ((1, 8, 8, 3), "size=1x2x2x1 stride=1x2x2x1", (1, 4, 4, 3)),
                                 ((9,), "size=3 rhs_dilate=2", (5,)), ((5,), "size=2 lhs_dilate=2 pad=0_1", (9,)),
                                 ((6, 5), "size=3x2 pad=-1_1x0_2", (4, 6))):
        operand, start = case.input(kind, dims, "small"), case.parameter(kind, (), init) if init else case.input(kind, (), "small")
        case.keep(kind, result, f"reduce-window({operand}, {start}), window={{{window}}}, to_apply={combine}")
