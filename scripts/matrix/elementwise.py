"""Operations on each element by itself: arithmetic, comparisons, selections, conversions."""

from .case import FEW_SHAPES, SHAPES
from .compare import EXACT, rule_of, ulps
from .types import COMPLEX, FLOATS, INTS, KINDS, MAIN_FLOATS, MAIN_INTS, RARE_FLOATS, RARE_INTS

UNARY_FLOAT = {"abs": 0, "negate": 0, "ceil": 0, "floor": 0, "round-nearest-afz": 0, "round-nearest-even": 0, "sign": 0, "sqrt": 0,
               "copy": 0, "rsqrt": 2, "cbrt": 4, "exponential": 4, "exponential-minus-one": 4, "log": 4, "log-plus-one": 4,
               "logistic": 4, "sine": 4, "cosine": 4, "tan": 6, "tanh": 6, "sinh": 6, "cosh": 4, "asin": 6, "acos": 6, "atanh": 6,
               "asinh": 6, "acosh": 6, "erf": 4}
BINARY_FLOAT = {"add": 0, "subtract": 0, "multiply": 0, "divide": 0, "maximum": 0, "minimum": 0, "remainder": 0, "power": 8, "atan2": 4}
UNARY_INT = ["abs", "negate", "sign", "not", "popcnt", "count-leading-zeros", "copy"]
BINARY_INT = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "power",
              "shift-left", "shift-right-arithmetic", "shift-right-logical", "mulhi"]
UNARY_COMPLEX = ["negate", "exponential", "log", "sqrt", "rsqrt", "tanh", "sine", "cosine", "sign", "exponential-minus-one",
                 "log-plus-one", "logistic", "copy", "tan", "sinh", "cosh", "asin", "acos", "atanh", "asinh", "acosh"]
BINARY_COMPLEX = ["add", "subtract", "multiply", "divide", "power", "atan2"]
SELDOM = [kind for kind in RARE_FLOATS + RARE_INTS if kind not in ("f8e4m3fn", "f8e5m2", "s4", "u4")]
# Of the same width.
BIT_TWINS = {"f4e2m1fn": "u4", "s1": "u1", "u1": "s1", "s2": "u2", "u2": "s2", "s4": "f4e2m1fn", "u4": "s4", "s8": "f8e4m3", "u8": "f8e3m4",
             "s64": "f64"} | {kind: "u8" for kind in FLOATS if kind.startswith("f8")}
RAREST = ["f6e2m3fn", "f6e3m2fn", "s1", "u1"]  # XLA's Python has no arrays of these
PREDS = ["and", "or", "xor", "add", "multiply", "maximum", "minimum"]


def elementwise(table):
    for kind in FLOATS:
        for op, units in UNARY_FLOAT.items():
            nary(table, op, kind, kind, 1, rule_of(kind, units))
        for op in ("real", "imag"):
            nary(table, op, kind, kind, 1, EXACT)
        nary(table, "is-finite", kind, "pred", 1, EXACT)
        for op, units in BINARY_FLOAT.items():
            nary(table, op, kind, kind, 2, rule_of(kind, units))
    for kind in INTS:
        for op in UNARY_INT:
            if op not in ("abs", "sign") or kind[0] == "s":
                nary(table, op, kind, kind, 1, EXACT)
        for op in BINARY_INT:
            nary(table, op, kind, kind, 2, EXACT)
    nary(table, "copy", "pred", "pred", 1, EXACT)
    for op in PREDS:
        nary(table, op, "pred", "pred", 2, EXACT)
    nary(table, "not", "pred", "pred", 1, EXACT)
    for kind in COMPLEX:
        for op in UNARY_COMPLEX:
            nary(table, op, kind, kind, 1, EXACT if op in ("negate", "copy") else ulps(16))
        for op in BINARY_COMPLEX:
            nary(table, op, kind, kind, 2, EXACT if op in ("add", "subtract", "multiply") else ulps(32))
        for op in ("real", "imag", "abs"):
            nary(table, op, kind, COMPLEX[kind][0], 1, ulps(2) if op == "abs" else EXACT)
    for kind in ("f32", "f64"):
        nary(table, "complex", kind, {"f32": "c64", "f64": "c128"}[kind], 2, EXACT)


def nary(table, op, kind, result, count, rule):
    case = table.case(f"{op}/{kind}", rule)
    if case not in table.cases[-1:]:
        return
    for number, (dims, layout) in enumerate(FEW_SHAPES if kind in SELDOM else SHAPES):
        # Functions of numbers with a NaN beside an infinity are not defined in every part.
        style = "small" if kind in COMPLEX and rule != EXACT else "edge"
        operands = [case.input(kind, dims, style, layout, shift=i * (number % 3 + 1)) for i in range(count)]
        # What shapes have to do with it, XLA's results of two types show.
        case.keep(result, dims, f"{op}({', '.join(operands)})", layout, kind in ("f32", "s32") or (dims, layout) in FEW_SHAPES)


def comparisons(table):
    for kind in KINDS:
        for order in ("", ", type=TOTALORDER") if kind in FLOATS else ("",):
            for direction in ("EQ", "NE") if kind in COMPLEX else ("EQ", "NE", "LT", "LE", "GT", "GE"):
                case = table.case(f"compare/{direction}{'-total' if order else ''}/{kind}")
                if case not in table.cases[-1:]:
                    continue
                for number, (dims, layout) in enumerate(FEW_SHAPES):
                    a = case.input(kind, dims, "edge", layout)
                    b = case.input(kind, dims, "edge", layout, shift=number % 2)
                    case.keep("pred", dims, f"compare({a}, {b}), direction={direction}{order}", layout)


def selections(table):
    for kind in KINDS:
        case = table.case(f"select/{kind}")
        for dims, layout in FEW_SHAPES:
            choice, a, b = (case.input(t, dims, "edge", layout) for t in ("pred", kind, kind))
            case.keep(kind, dims, f"select({choice}, {a}, {b})", layout)
            scalar = case.input("pred", ())
            case.keep(kind, dims, f"select({scalar}, {a}, {b})", layout)
        if kind in COMPLEX:
            continue
        case = table.case(f"clamp/{kind}")
        for dims, layout in FEW_SHAPES:
            a, b, c = (case.input(kind, dims, "edge", layout, shift=i) for i in range(3))
            case.keep(kind, dims, f"clamp({a}, {b}, {c})", layout)


def conversions(table):
    usual = MAIN_FLOATS + MAIN_INTS + ["pred", "s4", "u4", "f8e4m3fn", "f8e5m2", *COMPLEX]
    for kind in KINDS:
        targets = [target for target in KINDS if target != kind and (kind not in COMPLEX or target in COMPLEX)]
        for target in targets:
            if kind in usual and target in usual:
                case = table.case(f"convert/{kind}-{target}")
                for dims, layout in FEW_SHAPES:
                    case.keep(target, dims, f"convert({case.input(kind, dims, 'edge', layout)})", layout)
        for name, rare in (("rare", [target for target in targets if target not in RAREST]), ("rarest", RAREST)):
            case = table.case(f"convert/{kind}-{name}")
            for target in rare:
                if target in targets and (kind not in usual or target not in usual):
                    case.keep(target, (65,), f"convert({case.input(kind, (65,))})")
    for kind, target in (("f32", "s32"), ("s32", "f32"), ("f16", "s16"), ("u16", "bf16"), ("f64", "u64"), ("s8", "u8")):
        case = table.case(f"bitcast-convert/{kind}-{target}")
        style = "small" if target in FLOATS else "edge"
        for dims, layout in FEW_SHAPES:
            case.keep(target, dims, f"bitcast-convert({case.input(kind, dims, style, layout)})", layout)
    for kind in KINDS:
        case = table.case(f"bitcast-convert/{kind}")
        target = BIT_TWINS.get(kind, kind)
        for dims, layout in FEW_SHAPES:
            case.keep(target, dims, f"bitcast-convert({case.input(kind, dims, 'small', layout)})", layout)
        case = table.case(f"bitcast/{kind}")
        case.keep(kind, (20,), f"bitcast({case.input(kind, (5, 4))})")
        case.keep(kind, (4, 5), f"bitcast({case.input(kind, (5, 4), layout=(0, 1))})")
    case = table.case("bitcast-convert/widths")
    case.keep("u8", (5, 4), f"bitcast-convert({case.input('u32', (5,))})")
    case.keep("u32", (3,), f"bitcast-convert({case.input('u16', (3, 2))})")
    case.keep("u64", (3, 2), f"bitcast-convert({case.input('u8', (3, 2, 8))})")
    for bits in ((5, 10), (8, 7), (4, 3), (8, 23), (2, 1), (5, 2)):
        for kind in FLOATS:
            case = table.case(f"reduce-precision/e{bits[0]}m{bits[1]}/{kind}")
            for dims, layout in FEW_SHAPES:
                operand = case.input(kind, dims, "edge", layout)
                case.keep(kind, dims, f"reduce-precision({operand}), exponent_bits={bits[0]}, mantissa_bits={bits[1]}", layout)
