"""Fourier transforms against their definition, summed in double; long ones by waves, whose transforms are known: a wave of frequency f
becomes n at place f and nothing elsewhere."""

import cmath
import math
import pathlib
import random
import struct
import subprocess
import sys
import zipfile

from modules import write_npz

XLAC, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
PARTS = {"c64": "f32", "c128": "f64"}
BOUNDS = {"c64": 3e-7, "c128": 3e-15}  # of the Euclidean norm, relative


def transformed(values, sign):
    n = len(values)
    roots = [cmath.exp(sign * 2j * math.pi * i / n) for i in range(n)]
    return [sum(value * roots[j * k % n] for j, value in enumerate(values)) for k in range(n)]


def flat(values):
    return [part for value in values for part in (value.real, value.imag)]


def read(path, part):
    with zipfile.ZipFile(path) as archive:
        data = archive.read("r0.npy")
    (length,) = struct.unpack_from("<H", data, 8)
    return [value for (value,) in struct.iter_unpack("<d" if part == "f64" else "<f", data[10 + length:])]


def run(lines, parameters, part):
    """Parts of the result; complex arrays enter and leave as real ones with a last dimension of 2."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = "HloModule m\n\nENTRY e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
    (FOLDER / "m.hlo").write_text(text)
    write_npz(FOLDER / "in.npz", "p", parameters)
    subprocess.run([XLAC, "run", "--inputs=in.npz", "--output=out.npz", "m.hlo"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    return read(FOLDER / "out.npz", part)


def complex_parameter(kind, dims, number):
    part, text = PARTS[kind], ",".join(map(str, dims))
    return [f"p{number} = {part}[{text},2] parameter({number})"] + [
        line for i, name in enumerate(("re", "im")) for line in (
            f"{name}_2 = {part}[{text},1] slice(p{number}), slice={{{', '.join(f'[0:{d}]' for d in dims)}, [{i}:{i + 1}]}}",
            f"{name} = {part}[{text}] reshape({name}_2)")] + [f"z = {kind}[{text}] complex(re, im)"]


def check(kind, want, got, what):
    distance = math.sqrt(sum(abs(a - b) ** 2 for a, b in zip(want, got, strict=True)))
    size = math.sqrt(sum(abs(a) ** 2 for a in want))
    assert distance <= BOUNDS[kind] * (1 + math.log2(len(want) + 1) / 4) * size, (what, distance / size)


def complex_result(kind, dims, name):
    """The parts of |name|, all real ones first."""
    part, text = PARTS[kind], ",".join(map(str, dims))
    return [f"r_re = {part}[{text}] real({name})", f"r_im = {part}[{text}] imag({name})",
            f"ROOT both = {part}[{2 * dims[0]}{''.join(f',{d}' for d in dims[1:])}] concatenate(r_re, r_im), dimensions={{0}}"]


def joined(parts):
    half = len(parts) // 2
    return [complex(*pair) for pair in zip(parts[:half], parts[half:])]


def run_complex(kind, dims, values, way, lengths):
    part, text = PARTS[kind], ",".join(map(str, dims))
    fft = f"y = {kind}[{text}] fft(z), fft_type={way}, fft_length={{{','.join(map(str, lengths))}}}"
    lines = complex_parameter(kind, dims, 0) + [fft] + complex_result(kind, dims, "y")
    return joined(run(lines, [(part, [*dims, 2], flat(values))], part))


def short(kind, rng):
    for n in (1, 2, 7, 17, 33, 37, 64, 67, 143, 150, 287, 289, 577):
        values = [complex(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(2 * n)]
        rows = [values[:n], values[n:]]
        want = [k for row in rows for k in transformed(row, -1)]
        check(kind, want, run_complex(kind, [2, n], values, "FFT", [n]), (kind, "FFT", n))
        want = [k / n for row in rows for k in transformed(row, 1)]
        check(kind, want, run_complex(kind, [2, n], values, "IFFT", [n]), (kind, "IFFT", n))


def real(kind, rng):
    part = PARTS[kind]
    for n in (1, 2, 4, 5, 6, 12, 34, 80):
        values = [rng.gauss(0, 1) for _ in range(n)]
        spectrum = transformed(values, -1)[:n // 2 + 1]
        half = len(spectrum)
        lines = [f"x = {part}[{n}] parameter(0)", f"y = {kind}[{half}] fft(x), fft_type=RFFT, fft_length={{{n}}}"]
        check(kind, spectrum, joined(run(lines + complex_result(kind, [half], "y"), [(part, [n], values)], part)), (kind, "RFFT", n))
        # What the first and the middle entry have no use for must not matter.
        spectrum[0] += 3j
        if n % 2 == 0:
            spectrum[-1] += 5j
        lines = complex_parameter(kind, [half], 0) + [f"ROOT x = {part}[{n}] fft(z), fft_type=IRFFT, fft_length={{{n}}}"]
        check(kind, values, run(lines, [(part, [half, 2], flat(spectrum))], part), (kind, "IRFFT", n))


def planes(kind, rng):
    """Several dimensions: one after the other."""
    dims = [2, 3, 4, 5]
    values = [complex(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(math.prod(dims))]
    want = list(values)
    for d, stride in ((3, 1), (2, 5), (1, 20)):
        for start in (i for i in range(len(want)) if i // stride % dims[d] == 0):
            places = range(start, start + dims[d] * stride, stride)
            for place, value in zip(places, transformed([want[place] for place in places], -1)):
                want[place] = value
    check(kind, want, run_complex(kind, dims, values, "FFT", dims[1:]), (kind, "FFT", dims))


def real_planes(kind, rng):
    """Of real numbers, half of the last dimension, then the others; and back."""
    part, rows, n = PARTS[kind], 6, 20
    half = n // 2 + 1
    values = [rng.gauss(0, 1) for _ in range(2 * rows * n)]
    want = [0j] * (2 * rows * half)
    for plane in range(2):
        lines = [transformed(values[(plane * rows + i) * n:(plane * rows + i + 1) * n], -1) for i in range(rows)]
        for k in range(half):
            for i, value in enumerate(transformed([line[k] for line in lines], -1)):
                want[(plane * rows + i) * half + k] = value
    dims = [2, rows, half]
    lines = [f"x = {part}[2,{rows},{n}] parameter(0)", f"y = {kind}[2,{rows},{half}] fft(x), fft_type=RFFT, fft_length={{{rows},{n}}}"]
    check(kind, want, joined(run(lines + complex_result(kind, dims, "y"), [(part, [2, rows, n], values)], part)), (kind, "RFFT", rows, n))
    lines = complex_parameter(kind, dims, 0) + [f"ROOT x = {part}[2,{rows},{n}] fft(z), fft_type=IRFFT, fft_length={{{rows},{n}}}"]
    check(kind, values, run(lines, [(part, [*dims, 2], flat(want))], part), (kind, "IRFFT", rows, n))


def long(kind):
    """2^15 and 3·5·7·11·13 need several factors and roots of unity in two tables, 10007 is prime."""
    for n, frequency in ((32768, 12345), (15015, 777)) if kind == "c64" else ((10007, 9000),):
        values = [cmath.exp(2j * math.pi * (frequency * j % n) / n) for j in range(n)]
        check(kind, [n if k == frequency else 0 for k in range(n)], run_complex(kind, [n], values, "FFT", [n]), (kind, "long", n))


def convolution(kind, rng):
    """By transforms of what is padded, with what is behind it, which fuse; several lines, and one for all of them."""
    part = PARTS[kind]
    for n, taps, length in ((20, 5, 24), (13, 13, 25), (150, 30, 179)):  # 179: a prime
        x, y = [rng.gauss(0, 1) for _ in range(2 * n)], [rng.gauss(0, 1) for _ in range(taps)]
        want = [sum(x[line * n + i - j] * y[j] for j in range(taps) if 0 <= i - j < n) for line in range(2) for i in range(n + taps - 1)]
        half = length // 2 + 1
        lines = [f"x = {part}[2,{n}] parameter(0)", f"y = {part}[{taps}] parameter(1)", f"zero = {part}[] constant(0)",
                 f"xp = {part}[2,{length}] pad(x, zero), padding=0_0x0_{length - n}", f"yp = {part}[{length}] pad(y, zero), padding=0_{length - taps}",
                 f"xf = {kind}[2,{half}] fft(xp), fft_type=RFFT, fft_length={{{length}}}",
                 f"yf = {kind}[{half}] fft(yp), fft_type=RFFT, fft_length={{{length}}}",
                 f"yb = {kind}[2,{half}] broadcast(yf), dimensions={{1}}", f"product = {kind}[2,{half}] multiply(xf, yb)",
                 f"whole = {part}[2,{length}] fft(product), fft_type=IRFFT, fft_length={{{length}}}",
                 f"ROOT some = {part}[2,{n + taps - 1}] slice(whole), slice={{[0:2], [0:{n + taps - 1}]}}"]
        check(kind, want, run(lines, [(part, [2, n], x), (part, [taps], y)], part), (kind, "convolution", n, taps))


generator = random.Random(3)
for kind in PARTS:
    short(kind, generator)
    real(kind, generator)
    planes(kind, generator)
    real_planes(kind, generator)
    convolution(kind, generator)
    long(kind)
