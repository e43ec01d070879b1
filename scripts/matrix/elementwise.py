"""Operations on each element by itself: arithmetic, comparisons, selections, conversions."""

from .case import FEW_SHAPES, SHAPES
from .compare import EXACT, rule_of, ulps
from .types import COMPLEX, FLOATS, MAIN_FLOATS, MAIN_INTS

UNARY_FLOAT = {"abs": 0, "negate": 0, "ceil": 0, "floor": 0, "round-nearest-afz": 0, "round-nearest-even": 0, "sign": 0, "sqrt": 0,
               "copy": 0, "rsqrt": 2, "cbrt": 4, "exponential": 4, "exponential-minus-one": 4, "log": 4, "log-plus-one": 4,
               "logistic": 4, "sine": 4, "cosine": 4, "tan": 6, "tanh": 6, "sinh": 6, "cosh": 4, "asin": 6, "acos": 6, "atanh": 6,
               "asinh": 6, "acosh": 6, "erf": 4}
BINARY_FLOAT = {"add": 0, "subtract": 0, "multiply": 0, "divide": 0, "maximum": 0, "minimum": 0, "remainder": 0, "power": 8, "atan2": 4}
UNARY_INT = ["abs", "negate", "sign", "not", "popcnt", "count-leading-zeros", "copy"]
BINARY_INT = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "power",
              "shift-left", "shift-right-arithmetic", "shift-right-logical"]
UNARY_COMPLEX = ["negate", "exponential", "log", "sqrt", "rsqrt", "tanh", "sine", "cosine", "sign", "exponential-minus-one",
                 "log-plus-one", "logistic", "copy", "tan", "sinh", "cosh", "asin", "acos", "atanh", "asinh", "acosh"]
BINARY_COMPLEX = ["add", "subtract", "multiply", "divide", "power", "atan2"]
PREDS = ["and", "or", "xor", "add", "multiply", "maximum", "minimum"]


def elementwise(table):
    for kind in MAIN_FLOATS + ["f8e4m3fn", "f8e5m2"]:
        narrow = kind.startswith("f8")
        for op, units in UNARY_FLOAT.items():
            if not narrow or op in ("abs", "negate", "copy", "exponential"):
                nary(table, op, kind, kind, 1, rule_of(kind, units))
        nary(table, "is-finite", kind, "pred", 1, EXACT)
        for op, units in BINARY_FLOAT.items():
            if not narrow or op in ("add", "maximum"):
                nary(table, op, kind, kind, 2, rule_of(kind, units))
    for kind in MAIN_INTS + ["s4", "u4"]:
        for op in UNARY_INT:
            if op not in ("abs", "sign") or kind[0] == "s":
                nary(table, op, kind, kind, 1, EXACT)
        for op in BINARY_INT:
            nary(table, op, kind, kind, 2, EXACT)
    for kind in ("u32", "s32", "u64", "s64", "u8"):
        nary(table, "mulhi", kind, kind, 2, EXACT)
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
    for number, (dims, layout) in enumerate(SHAPES):
        # Functions of numbers with a NaN beside an infinity are not defined in every part.
        style = "small" if kind in COMPLEX and rule != EXACT else "edge"
        operands = [case.input(kind, dims, style, layout, shift=i * (number % 3 + 1)) for i in range(count)]
        # What shapes have to do with it, XLA's results of two types show.
        case.keep(result, dims, f"{op}({', '.join(operands)})", layout, kind in ("f32", "s32") or (dims, layout) in FEW_SHAPES)


def comparisons(table):
    for kind in MAIN_FLOATS + MAIN_INTS + ["pred", "s4", *COMPLEX]:
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
    for kind in MAIN_FLOATS + MAIN_INTS + ["pred", "c64", "s4", "f8e5m2"]:
        case = table.case(f"select/{kind}")
        for dims, layout in FEW_SHAPES:
            choice, a, b = (case.input(t, dims, "edge", layout) for t in ("pred", kind, kind))
            case.keep(kind, dims, f"select({choice}, {a}, {b})", layout)
            scalar = case.input("pred", ())
            case.keep(kind, dims, f"select({scalar}, {a}, {b})", layout)
        if kind in ("pred", "c64", "s4", "f8e5m2"):
            continue
        case = table.case(f"clamp/{kind}")
        for dims, layout in FEW_SHAPES:
            a, b, c = (case.input(kind, dims, "edge", layout, shift=i) for i in range(3))
            case.keep(kind, dims, f"clamp({a}, {b}, {c})", layout)


def conversions(table):
    kinds = MAIN_FLOATS + MAIN_INTS + ["pred", "s4", "u4", "f8e4m3fn", "f8e5m2"]
    for kind in kinds + [*COMPLEX]:
        for target in kinds + [*COMPLEX]:
            if kind == target or kind in COMPLEX and target not in COMPLEX:
                continue
            case = table.case(f"convert/{kind}-{target}")
            for dims, layout in FEW_SHAPES:
                case.keep(target, dims, f"convert({case.input(kind, dims, 'edge', layout)})", layout)
    for kind, target in (("f32", "s32"), ("s32", "f32"), ("f16", "s16"), ("u16", "bf16"), ("f64", "u64"), ("s8", "u8")):
        case = table.case(f"bitcast-convert/{kind}-{target}")
        style = "small" if target in FLOATS else "edge"
        for dims, layout in FEW_SHAPES:
            case.keep(target, dims, f"bitcast-convert({case.input(kind, dims, style, layout)})", layout)
    case = table.case("bitcast-convert/widths")
    case.keep("u8", (5, 4), f"bitcast-convert({case.input('u32', (5,))})")
    case.keep("u32", (3,), f"bitcast-convert({case.input('u16', (3, 2))})")
    case.keep("u64", (3, 2), f"bitcast-convert({case.input('u8', (3, 2, 8))})")
    for bits in ((5, 10), (8, 7), (4, 3), (8, 23), (2, 1), (5, 2)):
        for kind in MAIN_FLOATS:
            case = table.case(f"reduce-precision/e{bits[0]}m{bits[1]}/{kind}")
            for dims, layout in FEW_SHAPES:
                operand = case.input(kind, dims, "edge", layout)
                case.keep(kind, dims, f"reduce-precision({operand}), exponent_bits={bits[0]}, mantissa_bits={bits[1]}", layout)
