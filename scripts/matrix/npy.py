"""NumPy's files, read and written with the standard library: values in lists, complex numbers as pairs."""

import itertools
import struct
import zipfile

from .types import COMPLEX, npy_type


STRUCT = {"<f8": "d", "<f4": "f", "<f2": "e", "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I",
          "<i8": "q", "<u8": "Q"}


def npy_bytes(kind, dims, values):
    code = npy_type(kind)
    shape = "(" + "".join(f"{d}, " for d in dims) + ")"
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}}}"
    header = header.ljust((len(header) + 11 + 63) // 64 * 64 - 11) + "\n"
    if kind in COMPLEX:
        data = struct.pack(f"<{2 * len(values)}{'f' if kind == 'c64' else 'd'}", *itertools.chain(*values))
    else:
        data = struct.pack(f"<{len(values)}{STRUCT[code]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npy_values(data):
    (length,) = struct.unpack_from("<H", data, 8)
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}}, {"True": True, "False": False})
    code, body = header["descr"], data[10 + length:]
    if code in ("<c8", "<c16"):
        part = "f" if code == "<c8" else "d"
        flat = struct.unpack(f"<{len(body) // struct.calcsize(part)}{part}", body)
        return list(zip(flat[::2], flat[1::2]))
    return list(struct.unpack(f"<{len(body) // struct.calcsize(STRUCT[code])}{STRUCT[code]}", body))


def npz_values(path):
    """By member, without its extension."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): npy_values(archive.read(name)) for name in archive.namelist()}
