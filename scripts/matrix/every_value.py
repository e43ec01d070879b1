"""All values of narrow floats through each operation of one operand, all pairs of floats of 8 bits through those of two."""

from .compare import EXACT, rule_of
from .elementwise import BINARY_FLOAT, UNARY_FLOAT
from .types import F8, POSITIVE


def every_value(table):
    for kind in F8:
        for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "power", "atan2"):
            # Beside the least number of f32 the last bit of a power decides between NaN and a number.
            if (op, kind) != ("power", POSITIVE):
                every_pair_of(table, op, kind)
    for kind, bits in [("f16", 16), ("bf16", 16), ("f4e2m1fn", 4)] + [(kind, 8) for kind in F8]:
        for op, units in UNARY_FLOAT.items():
            every_value_of(table, op, kind, bits, kind, rule_of(kind, units))
        every_value_of(table, "is-finite", kind, bits, "pred", EXACT)
        for target in ("f32", "f64", "s32", "u8", "s64", "bf16", "f16", "pred", "f4e2m1fn", *F8):
            if target != kind:
                every_value_of(table, "convert", kind, bits, target, EXACT)


def every_value_of(table, op, kind, bits, result, rule):
    case = table.case(f"every/{op}/{kind}" + (f"-{result}" if op == "convert" else ""), rule)
    number = case.parameter(f"u{bits}", (1 << bits,), range(1 << bits))
    value = case.add(kind, (1 << bits,), f"bitcast-convert({number})")
    case.keep(result, (1 << bits,), f"{op}({value})")


def every_pair_of(table, op, kind):
    case = table.case(f"every/{op}/{kind}", rule_of(kind, BINARY_FLOAT[op]))
    number = case.parameter("u16", (65536,), range(65536))
    bytes_ = case.add("u8", (65536, 2), f"bitcast-convert({number})")
    pair = case.add(kind, (65536, 2), f"bitcast-convert({bytes_})")
    halves = []
    for i in range(2):
        column = case.add(kind, (65536, 1), f"slice({pair}), slice={{[0:65536], [{i}:{i + 1}]}}")
        halves.append(case.add(kind, (65536,), f"reshape({column})"))
    case.keep(kind, (65536,), f"{op}({', '.join(halves)})")
