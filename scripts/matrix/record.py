"""What XLA:CPU gave for each case: testdata/matrix/OPERATION.xz, one file for all types of an operation.

A file is LZMA of a JSON list, a newline, and the values.  An entry of the list has the case's "name" and either "refused", why XLA does not
run it, or "digest", of the module and its inputs, so that a record of something else is noticed, and "bytes", of its values: result by result
in the number of bytes that the type has (narrow floats in two: bfloat16 holds them all), the lowest bytes of all elements first, then the
next.  Any NaN is one and the same.  "form" stands in it where XLA does not run the case's own module: FUSED, its opcode inside of a fusion,
or EXPANSION, the operations that JAX makes of it.
"""

import hashlib
import json
import lzma
import pathlib
import struct

from .case import module_of
from .npy import STRUCT, npy_bytes
from .types import COMPLEX, FLOATS, npy_type

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata" / "matrix"
FUSED, EXPANSION = "fused", "expansion"
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def operation_of(name):
    """What the file is called that has the case |name|."""
    parts = name.split("/")
    return "-".join(parts[:2]) if parts[0] in ("every", "reduce", "scatter", "reduce-window") else parts[0]


def digest_of(case):
    text = hashlib.sha256(module_of([case], True).encode())
    for parameter in case.parameters:
        text.update(npy_bytes(parameter.kind, parameter.dims, parameter.values))
    return text.hexdigest()[:16]


# ---- values ----

def is_short(kind):
    """Kept as the upper half of an f32."""
    return kind in FLOATS and kind not in ("f16", "f32", "f64")


def letter_of(kind):
    return STRUCT[npy_type(kind)]


def flat(kind, values):
    if kind in COMPLEX:
        return [part for value in values for part in value]
    return values


def one_nan(values):
    return [value if value == value else float("nan") for value in values]


def planes(data, width):
    return b"".join(data[i::width] for i in range(width))


def pack(kind, values):
    values = flat(kind, values)
    if kind in COMPLEX:
        kind = COMPLEX[kind][0]
    if kind in FLOATS:
        values = one_nan(values)
    letter = letter_of(kind)
    data, width = struct.pack(f"<{len(values)}{letter}", *values), struct.calcsize(letter)
    if is_short(kind):
        return planes(b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4)), 2)
    return planes(data, width)


def packed_width(kind):
    if kind in COMPLEX:
        return 2 * packed_width(COMPLEX[kind][0])
    return 2 if is_short(kind) else struct.calcsize(letter_of(kind))


def unpack(kind, data):
    part = COMPLEX[kind][0] if kind in COMPLEX else kind
    width = packed_width(part)
    count = len(data) // width
    whole = bytearray(len(data))
    for i in range(width):
        whole[i::width] = data[i * count:(i + 1) * count]
    if is_short(part):
        wide = bytearray(4 * count)
        wide[2::4], wide[3::4] = whole[0::2], whole[1::2]
        return list(struct.unpack(f"<{count}f", wide))
    values = list(struct.unpack(f"<{count}{letter_of(part)}", whole))
    return list(zip(values[::2], values[1::2])) if kind in COMPLEX else values


# ---- files ----

class Record:
    """The files that were asked for, each read once."""

    def __init__(self, folder=FOLDER):
        self.folder, self.files = folder, {}

    def entries(self, operation):
        """By case: the entry, and its values."""
        if operation not in self.files:
            path = self.folder / f"{operation}.xz"
            self.files[operation] = read_file(path) if path.is_file() else {}
        return self.files[operation]

    def form(self, case):
        """FUSED, EXPANSION, or "" for the case's own module."""
        entry, _ = self.entries(operation_of(case.name)).get(case.name, ({}, b""))
        return entry.get("form", "")

    def lacks(self, case):
        """Whether XLA has not been asked for the case as it is."""
        entry, _ = self.entries(operation_of(case.name)).get(case.name, (None, b""))
        return entry is None or "refused" not in entry and entry["digest"] != digest_of(case)

    def find(self, case):
        """(why there is none, None) or (None, values by recorded result)."""
        if case.unrecorded:
            return case.unrecorded, None
        entry, data = self.entries(operation_of(case.name)).get(case.name, (None, b""))
        if entry is None:
            return "not recorded", None
        if "refused" in entry:
            return f"XLA: {entry['refused']}", None
        if entry["digest"] != digest_of(case):
            return "recorded of another module: scripts/record_matrix", None
        results, start = [], 0
        for result in case.recorded_results:
            size = packed_width(result.kind) * result.size
            results.append(unpack(result.kind, data[start:start + size]))
            start += size
        return None, results


def read_file(path):
    header, _, body = lzma.decompress(path.read_bytes()).partition(b"\n")
    entries, start = {}, 0
    for entry in json.loads(header):
        size = entry.get("bytes", 0)
        entries[entry["name"]] = entry, body[start:start + size]
        start += size
    return entries


def write_file(path, entries):
    """|entries| as of read_file."""
    names = sorted(entries)
    header = json.dumps([entries[name][0] for name in names], separators=(",", ":"), sort_keys=True)
    data = header.encode() + b"\n" + b"".join(entries[name][1] for name in names)
    path.write_bytes(lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=FILTERS))


def entry_of(case, values, form=""):
    data = b"".join(pack(result.kind, value) for result, value in zip(case.recorded_results, values))
    entry = {"name": case.name, "digest": digest_of(case), "bytes": len(data)}
    return {**entry, "form": form} if form else entry, data


def refusal_of(case, reason):
    return {"name": case.name, "refused": reason}, b""
