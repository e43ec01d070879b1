#!/usr/bin/env python3
"""Writes a module as HLO text, all constants in full: to_hlo_text.py FILE >MODEL.hlo

FILE ("-": standard input) is one of
  a serialized HloModuleProto, HloProto (--xla_dump_hlo_as_proto) or HloSnapshot;
  StableHLO as text, as MLIR bytecode or as a portable artifact (jax.export's mlir_module_serialized).
Needs jaxlib.
"""

import math
import pathlib
import re
import sys

LENGTH_DELIMITED_1, LENGTH_DELIMITED_2 = 0x0A, 0x12
MLIR_BYTECODE = b"ML\xefR"


def field(data, tag):
    """The content of the field at the start of |data| and what follows, or None where it has another tag."""
    if not data or data[0] != tag:
        return None
    size, at = 0, 1
    while True:
        size |= (data[at] & 0x7F) << (7 * (at - 1))
        at += 1
        if data[at - 1] < 0x80:
            return data[at:at + size], data[at + size:]


def module_proto(data):
    """The HloModuleProto, whose first field is a name and second one another, out of what it is wrapped in."""
    content, rest = field(data, LENGTH_DELIMITED_1)
    while not rest.startswith(bytes([LENGTH_DELIMITED_2])) or not content.isascii() or not content.decode().isprintable():
        data = content
        content, rest = field(data, LENGTH_DELIMITED_1)
    return data


def with_bytes_for_bits(text):
    """MLIR text with each truth value of a constant in hexadecimal as a byte of its own.

    Older versions of MLIR (those of torch_xla 2.9 and of jaxlib 0.7, say) write eight of them in a byte, the first as the lowest bit, which later ones refuse.
    """
    def with_bytes(constant):
        elements = math.prod(int(dim) for dim in constant[2].split(b"x") if dim)
        packed = bytes.fromhex(constant[1].decode())
        if len(packed) == 1 or len(packed) != (elements + 7) // 8:  # one byte stands for all elements
            return constant[0]
        unpacked = bytes(packed[i // 8] >> i % 8 & 1 for i in range(elements))
        return constant[0].replace(constant[1], unpacked.hex().upper().encode())

    return re.sub(rb'dense<"0x((?:[0-9A-Fa-f]{2})+)"> *: *tensor<((?:\d+x)+)i1>', with_bytes, text)


def computation_of(data):
    import jaxlib_hlo  # which fails where there is no jaxlib

    if data[:1] == bytes([LENGTH_DELIMITED_1]) and not data.strip().startswith((b"module", b"#", b"//", b'"')):
        return jaxlib_hlo.hlo.XlaComputation(module_proto(data))
    try:
        return jaxlib_hlo.mlir.mlir_module_to_xla_computation(data, use_tuple_args=False, return_tuple=False)
    except RuntimeError:
        other = data if data.startswith(MLIR_BYTECODE) else with_bytes_for_bits(data)
        if other == data:
            raise
        return jaxlib_hlo.mlir.mlir_module_to_xla_computation(other, use_tuple_args=False, return_tuple=False)


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    name = sys.argv[1]
    data = sys.stdin.buffer.read() if name == "-" else pathlib.Path(name).read_bytes()
    try:
        computation = computation_of(data)
    except ImportError as error:
        sys.exit(f"to_hlo_text.py needs jaxlib: {error}")
    except (RuntimeError, TypeError, IndexError) as error:
        sys.exit(f"'{name}' is neither a serialized HLO module nor MLIR: {error}")
    sys.stdout.write(computation.as_hlo_text(print_large_constants=True))


if __name__ == "__main__":
    main()
