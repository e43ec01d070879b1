"""Writes p0 = [[0 1 2] [3 4 5]] and p1 = 0, of 32-bit integers, with nothing but Python's own library."""
import struct
import sys
import zipfile


def npy(shape, values):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}i", *values)


with zipfile.ZipFile(sys.argv[1], "w") as archive:
    archive.writestr("p0.npy", npy((2, 3), range(6)))
    archive.writestr("p1.npy", npy((), [0]))
