"""Opcodes that passes rewrite: random bits, Fourier transforms, linear algebra, batch norm."""

import itertools

from .case import text_of
from .compare import bound
from .types import COMPLEX, rounded


def others(table):
    for algorithm in ("rng_three_fry", "rng_philox", "rng_default"):
        for kind in ("u32", "u64", "u8", "u16", "s32", "s64", "s8", "s16"):
            case = table.case(f"rng-bit-generator/{algorithm}/{kind}")
            for dims in ((), (1,), (6,), (33,), (3, 4), (5, 7), (3, 3, 2)):
                state = case.input("u64", (2,))
                both = case.add(f"(u64[2], {text_of(kind, dims)})", None, f"rng-bit-generator({state}), algorithm={algorithm}")
                case.keep("u64", (2,), f"get-tuple-element({both}), index=0")
                case.keep(kind, dims, f"get-tuple-element({both}), index=1")
    for kind, real in (("c64", "f32"), ("c128", "f64")):
        case = table.case(f"fft/{kind}", bound(1024, 1024))
        for n, rows in ((1, 3), (2, 3), (8, 3), (17, 3), (64, 2), (60, 2), (61, 2), (67, 2), (96, 2), (360, 1), (1009, 1), (1024, 1)):
            for way in ("FFT", "IFFT"):
                case.keep(kind, (rows, n), f"fft({case.input(kind, (rows, n), 'small')}), fft_type={way}, fft_length={{{n}}}")
            half = (rows, n // 2 + 1)
            case.keep(kind, half, f"fft({case.input(real, (rows, n), 'small')}), fft_type=RFFT, fft_length={{{n}}}")
            case.keep(real, (rows, n), f"fft({case.input(kind, half, 'small')}), fft_type=IRFFT, fft_length={{{n}}}")
        case.keep(kind, (2, 4, 6), f"fft({case.input(kind, (2, 4, 6), 'small')}), fft_type=FFT, fft_length={{4,6}}")
    for kind in ("f32", "f64", *COMPLEX):
        linear(table, kind)
    for kind in ("f32", "f64", "f16", "bf16"):
        batch_norm(table, kind)


def entries_of(kind, values):
    """Real numbers as those of |kind|, complex ones with some imaginary part off the diagonal."""
    if kind not in COMPLEX:
        return values
    n = round(len(values) ** 0.5)
    return [(value, 0.0 if i // n == i % n else value / 2 if i // n > i % n else -value / 2) for i, value in enumerate(values)]


def linear(table, kind):
    for n in (1, 5, 17, 130):
        case = table.case(f"triangular-solve/{n}/{kind}", bound(4096, 4096))
        # A dominant diagonal keeps the solution small.
        part = COMPLEX[kind][0] if kind in COMPLEX else kind
        matrix = [3.0 + i % 3 if i // n == i % n else rounded(part, case.random.uniform(-1, 1) / n) for i in range(n * n)]
        a = case.parameter(kind, (n, n), entries_of(kind, matrix))
        for left, lower, unit, transpose in itertools.product((True, False), (True, False), (True, False), ("NO_TRANSPOSE", "ADJOINT" if kind in COMPLEX else "TRANSPOSE")):
            dims = (n, 4) if left else (4, n)
            b = case.input(kind, dims, "small")
            flags = f"left_side={str(left).lower()}, lower={str(lower).lower()}, unit_diagonal={str(unit).lower()}, transpose_a={transpose}"
            case.keep(kind, dims, f"triangular-solve({a}, {b}), {flags}")
        case = table.case(f"cholesky/{n}/{kind}", bound(1024, 1024))
        matrix = [float(n + 2) if i // n == i % n else rounded(part, 1.0 / (1 + abs(i // n - i % n))) for i in range(n * n)]
        a = case.parameter(kind, (n, n), entries_of(kind, matrix))
        lower = case.add(kind, (n, n), f"cholesky({a}), lower=true")
        rows = case.add("s32", (n, n), "iota(), iota_dimension=0")
        columns = case.add("s32", (n, n), "iota(), iota_dimension=1")
        inside = case.add("pred", (n, n), f"compare({rows}, {columns}), direction=GE")
        zero = case.add(kind, (n, n), f"subtract({a}, {a})")
        case.keep(kind, (n, n), f"select({inside}, {lower}, {zero})")


def batch_norm(table, kind):
    case = table.case(f"batch-norm/{kind}", bound(256, 256))
    operand = case.input(kind, (4, 5, 3), "small")
    scale, offset, mean, variance = (case.input(kind, (3,), "unit") for _ in range(4))
    case.keep(kind, (4, 5, 3), f"batch-norm-inference({operand}, {scale}, {offset}, {mean}, {variance}), epsilon=0.001, feature_index=2")
    all3 = case.add(f"({kind}[4,5,3], {kind}[3], {kind}[3])", None, f"batch-norm-training({operand}, {scale}, {offset}), epsilon=0.001, feature_index=2")
    gradient = case.input(kind, (4, 5, 3), "small")
    grads = case.add(f"({kind}[4,5,3], {kind}[3], {kind}[3])", None,
                     f"batch-norm-grad({operand}, {scale}, {mean}, {variance}, {gradient}), epsilon=0.001, feature_index=2")
    for value in (all3, grads):
        for i in range(3):
            case.keep(kind, (4, 5, 3) if i == 0 else (3,), f"get-tuple-element({value}), index={i}")
