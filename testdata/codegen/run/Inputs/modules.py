"""Small modules run by xlac and compared, bit for bit, with values that a test works out by itself.

A test makes a Module, adds parameters and results with their values, and calls run(): once per processor that this machine can
execute, so that masks of every kind, gathers and their replacements are all seen.
"""

import itertools
import pathlib
import struct
import subprocess
import sys
import zipfile

# type: letters of NumPy, struct's format; narrow types stand in files as the next wider one
FORMATS = {
    "pred": ("|b1", "?"), "s4": ("|i1", "b"), "u4": ("|u1", "B"), "s8": ("|i1", "b"), "u8": ("|u1", "B"), "s16": ("<i2", "h"),
    "u16": ("<u2", "H"), "s32": ("<i4", "i"), "u32": ("<u4", "I"), "s64": ("<i8", "q"), "u64": ("<u8", "Q"), "f16": ("<f2", "e"),
    "bf16": ("<f4", "f"), "f32": ("<f4", "f"), "f64": ("<f8", "d"),
}
INTEGERS = ("s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")


def bits_of(kind):
    return int(kind.lstrip("bsuf"))


def wrapped(kind, value):
    """The integer |value| in two's complement of the type's width."""
    bits = bits_of(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def rounded(kind, value):
    """The nearest value of a floating-point type, ties to even."""
    if kind == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    form = FORMATS[kind][1]
    return struct.unpack("<" + form, struct.pack("<" + form, value))[0]


def indices(shape):
    return itertools.product(*(range(extent) for extent in shape))


def shape_text(kind, shape):
    return f"{kind}[{','.join(map(str, shape))}]"


def npy(kind, shape, values):
    letters, form = FORMATS[kind]
    dims = "".join(f"{extent}, " for extent in shape)
    header = f"{{'descr': '{letters}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{form}", *values)


def write_npz(path, letter, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for number, array in enumerate(arrays):
            archive.writestr(f"{letter}{number}.npy", npy(*array))


def processors():
    """Options for each kind of code that this machine can run."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        flags = []
    haswell = {"avx2", "fma", "bmi2", "f16c"}.issubset(flags)
    return [[], ["--mcpu=x86-64"]] + ([["--mcpu=haswell"]] if haswell else [])


class Module:
    """A module under construction: lines of its entry, parameters with values, results with what they must be."""

    def __init__(self, name, functions=""):
        self.name, self.functions, self.lines = name, functions, []
        self.parameters, self.results = [], []

    def parameter(self, kind, shape, values):
        values = list(values)
        name = f"p{len(self.parameters)}"
        self.parameters.append((kind, shape, values))
        return self.line(shape_text(kind, shape), f"parameter({len(self.parameters) - 1})", name)

    def line(self, shape, text, name=None):
        name = name or f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {shape} {text}")
        return name

    def op(self, kind, shape, text):
        return self.line(shape_text(kind, shape), text)

    def result(self, name, kind, shape, values):
        values = list(values)
        self.results.append((name, kind, shape, values))

    def text(self):
        names = ", ".join(name for name, *_ in self.results)
        shapes = ", ".join(shape_text(kind, shape) for _, kind, shape, _ in self.results)
        lines = "\n".join(self.lines)
        return f"HloModule {self.name}\n{self.functions}\nENTRY main {{\n{lines}\n  ROOT all = ({shapes}) tuple({names})\n}}\n"

    def run(self, threads=(None,), rtol=0):
        """|threads|: numbers of them, each tried.  |rtol|: relative error of floats, where not all bits are known."""
        xlac, folder = sys.argv[1], pathlib.Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        module, given, wanted = (folder / f"{self.name}{end}" for end in (".hlo", ".in.npz", ".out.npz"))
        module.write_text(self.text())
        write_npz(given, "p", self.parameters)
        write_npz(wanted, "r", [result[1:] for result in self.results])
        for options, count in itertools.product(processors(), threads):
            shared = [] if count is None else [f"--num-threads={count}"]
            command = [xlac, "run", *options, *shared, f"--inputs={given}", f"--expect={wanted}", f"--rtol={rtol}", "--atol=0", str(module)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                print(" ".join(command))
                lines = done.stdout.decode(errors="replace").splitlines()
                print("\n".join(line for line in lines if ": ok, " not in line))
                sys.exit(f"{self.name}: exit status {done.returncode}")
