"""All cases: operation by type by shape."""

from . import contractions, control, elementwise, every_value, expanded, folds, movement, order
from .case import Case
from .compare import EXACT
from .elementwise import BINARY_FLOAT, BINARY_INT, UNARY_FLOAT, UNARY_INT

QUICK_PREFIXES = ("while/", "conditional/", "map/f32", "argmax/f32", "triangular-solve/5/f32", "rng-bit-generator/rng_philox/u32",
                  "rng-bit-generator/rng_three_fry/u32")
QUICK = {f"{op}/f32" for op in [*UNARY_FLOAT, *BINARY_FLOAT, "is-finite"]} | {f"{op}/s32" for op in UNARY_INT + BINARY_INT} | {
    f"{op}/{kind}" for op in ("add", "multiply", "divide", "maximum", "exponential") for kind in ("bf16", "f16", "f64")} | {
    f"{op}/{kind}" for op in ("add", "divide", "shift-left", "maximum") for kind in ("u8", "s64", "u64", "s4")} | {
    f"compare/{direction}{total}/f32" for direction in ("EQ", "LT", "GE") for total in ("", "-total")} | {
    f"convert/{a}-{b}" for a, b in (("f32", "s32"), ("f32", "bf16"), ("s32", "f32"), ("f32", "u8"), ("f16", "f32"), ("f64", "s64"),
                                    ("s64", "f32"), ("u64", "f64"), ("pred", "f32"), ("f32", "pred"), ("f32", "f8e4m3fn"))} | {
    f"{op}/{kind}" for kind in ("f32", "s8") for op in ("broadcast", "transpose", "reverse", "slice", "pad", "concatenate", "reshape",
                                                        "dynamic-slice", "dynamic-update-slice", "gather", "scatter/add", "select")} | {
    f"{reduce}/{op}/{kind}" for reduce in ("reduce", "reduce-init") for op in ("add", "maximum") for kind in ("f32", "bf16", "s32")} | {
    "clamp/f32", "iota/s32", "dot/f32", "dot/bf16", "dot/s32", "dot/mixed/bf16-bf16", "dot/mixed/s32-f16", "convolution/f32", "convolution/mixed/f32-s8", "reduce-window/add/f32", "reduce-window/maximum/f32",
    "select-and-scatter/f32", "sort/f32", "sort-pairs/f32", "multiply/c64", "exponential/c64", "divide/c128", "dot/c64", "reduce/add/c64", "fft/c64", "and/pred", "not/pred",
    "bitcast-convert/widths", "reduce-precision/e5m10/f32", "reduce-precision/e8m7/f16"}

FAMILIES = [elementwise.elementwise, elementwise.comparisons, elementwise.selections, elementwise.conversions, movement.movements,
            folds.reductions, contractions.contractions, contractions.mixed_contractions, order.orders, control.control, expanded.others]


class Table:
    """Cases whose names contain one of |patterns| (none: all); |quick|: only those that belong to the tests."""

    def __init__(self, patterns=(), quick=False, seed=1):
        self.patterns, self.quick, self.seed, self.cases = patterns, quick, seed, []
        for family in FAMILIES + ([] if quick else [every_value.every_value]):
            family(self)
        self.cases = [case for case in self.cases if case.results]

    def case(self, name, rule=EXACT, unrecorded=""):
        wanted = not self.patterns or any(pattern in name for pattern in self.patterns)
        wanted = wanted and (not self.quick or name in QUICK or any(name.startswith(prefix) for prefix in QUICK_PREFIXES))
        case = Case(name, self.seed, rule, unrecorded, wanted)
        if wanted:
            self.cases.append(case)
        return case
