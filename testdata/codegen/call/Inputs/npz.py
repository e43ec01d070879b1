"""npz.py FILE NAME:TYPE[,DIM...]=VALUE,... ...: writes arrays as NumPy would."""
import struct
import sys
import zipfile

TYPES = {"s32": ("<i4", "i"), "f32": ("<f4", "f")}

with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for argument in sys.argv[2:]:
        head, values = argument.split("=")
        name, kind = head.split(":")
        kind, *dims = kind.split(",")
        descr, letter = TYPES[kind]
        shape = "(" + "".join(f"{dim}, " for dim in dims) + ")"
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}".encode()
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        data = b"".join(struct.pack("<" + letter, float(v) if letter == "f" else int(v)) for v in values.split(","))
        archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
