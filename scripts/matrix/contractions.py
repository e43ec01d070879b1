"""Dots and convolutions."""

from .compare import EXACT, bound
from .types import COMPLEX, FLOATS, INTS, KINDS, RARE_FLOATS, rounded

MIXED = ["pred", "s8", "u8", "s32", "f16", "bf16", "f32", "f64", "c64"]


def contractions(table):
    for kind in KINDS:
        # Sums of narrow numbers would overflow, or be pred.
        result = "s32" if kind == "s8" or kind == "pred" else "f32" if kind in RARE_FLOATS else kind
        exact = kind in INTS or kind == "pred"
        case = table.case(f"dot/{kind}", EXACT if exact else bound(64, 512))
        for a, b, out, numbers in (
                ((33,), (33,), (), "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
                ((5, 17), (17,), (5,), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                ((16, 16), (16, 16), (16, 16), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                ((33, 65), (65, 31), (33, 31), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                ((17, 5), (33, 17), (5, 33), "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
                ((1, 64), (64, 100), (1, 100), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                ((3, 7, 9), (3, 9, 5), (3, 7, 5),
                 "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
                ((4, 3, 5, 2), (5, 2, 6), (4, 3, 6), "lhs_contracting_dims={2,3}, rhs_contracting_dims={0,1}"),
                ((3, 0), (0, 4), (3, 4), "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                ((3,), (4,), (3, 4), "")):
            p, q = case.input(kind, a, "small"), case.input(kind, b, "small")
            case.keep(result, out, f"dot({p}, {q})" + (", " + numbers if numbers else ""))
        case = table.case(f"convolution/{kind}", EXACT if exact else bound(128, 512))
        for a, b, out, window, labels, more in (
                ((2, 9, 3), (3, 3, 5), (2, 7, 5), "size=3", "b0f_0io->b0f", ""),
                ((1, 8, 8, 3), (3, 3, 3, 16), (1, 8, 8, 16), "size=3x3 pad=1_1x1_1", "b01f_01io->b01f", ""),
                ((2, 3, 9, 7), (4, 3, 3, 2), (2, 4, 4, 6), "size=3x2 stride=2x1", "bf01_oi01->bf01", ""),
                ((1, 7, 7, 4), (3, 3, 1, 8), (1, 5, 5, 8), "size=3x3", "b01f_01io->b01f", ", feature_group_count=4"),
                ((4, 6, 2), (3, 2, 6), (2, 4, 6), "size=3", "b0f_0io->b0f", ", batch_group_count=2"),
                ((1, 5, 2), (3, 2, 3), (1, 9, 3), "size=3 pad=1_1 lhs_dilate=2", "b0f_0io->b0f", ""),
                ((1, 11, 2), (3, 2, 3), (1, 7, 3), "size=3 rhs_dilate=2", "b0f_0io->b0f", ""),
                ((1, 6, 6, 2), (2, 2, 2, 3), (1, 5, 5, 3), "size=2x2 rhs_reversal=1x1", "b01f_01io->b01f", ""),
                ((1, 9, 2), (3, 2, 3), (1, 5, 3), "size=3 pad=-1_-1", "b0f_0io->b0f", ""),
                ((3, 4), (4, 5), (3, 5), "", "bf_io->bf", "")):
            p, q = case.input(kind, a, "small"), case.input(kind, b, "small")
            case.keep(result, out, f"convolution({p}, {q})" + (f", window={{{window}}}" if window else "") +
                      f", dim_labels={labels}{more}")


def quarters(case, kind, count):
    """Numbers whose sums of products are exact in every type that has room for them, so that no order matters."""
    if kind in COMPLEX:
        return list(zip(quarters(case, "f32", count), quarters(case, "f32", count)))
    if kind in FLOATS:
        return [rounded(kind, case.random.randint(-12, 12) / 4) for _ in range(count)]
    return case.values.make(kind, count, "small")


def mixed_contractions(table):
    """Factors and results of every mix of types."""
    for a in MIXED:
        for b in MIXED:
            for operation, attributes in (("dot", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                                          ("convolution", "dim_labels=bf_io->bf")):
                case = table.case(f"{operation}/mixed/{a}-{b}", EXACT)
                p = case.parameter(a, (3, 6), quarters(case, a, 18))
                q = case.parameter(b, (6, 5), quarters(case, b, 30))
                for result in MIXED:
                    case.keep(result, (3, 5), f"{operation}({p}, {q}), {attributes}")
