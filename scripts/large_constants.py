"""Constants that a framework leaves out of its text ("constant({...})"), put back from the literals of the same module as a protocol buffer."""

import re

import numpy

import exported_module


def words_of(name, data):
    """The elements of a literal that are stored as the bytes |data|."""
    if name == "bf16":  # which numpy alone does not have
        return (numpy.frombuffer(data, "<u2").astype(numpy.uint32) << 16).view(numpy.float32)
    return numpy.frombuffer(data, exported_module.numpy_type(name))


def literal_array(name, dims, minor_to_major, field):
    """The array of a literal with elements of the HLO type |name|: |field| is the bytes, numbers, or pairs of numbers that its protocol buffer holds."""
    if isinstance(field, bytes):
        flat = words_of(name, field)
    elif name in ("c64", "c128"):
        flat = numpy.array(field, numpy.float64)
        flat = (flat[0::2] + 1j * flat[1::2]).astype(exported_module.numpy_type(name))
    else:
        flat = numpy.array(field, exported_module.numpy_type(name))
    major_to_minor = minor_to_major[::-1]
    return flat.reshape([dims[dim] for dim in major_to_minor]).transpose(numpy.argsort(major_to_minor))


def array_text(array):
    if array.ndim > 0:
        return "{" + ", ".join(array_text(part) for part in array) + "}"
    return f"({array.real}, {array.imag})" if array.dtype.kind == "c" else str(array).lower()


def with_constants(text, make_literals, array_of_literal):
    """|text| with its large constants.

    make_literals() returns the module's literals by name, and is asked only where one is left out; array_of_literal() is the array of one.
    """
    if "constant({...})" not in text:
        return text
    literals = make_literals()
    return re.sub(r"%(\S+) = (\S+) constant\(\{\.\.\.\}\)",
                  lambda found: f"%{found[1]} = {found[2]} constant({array_text(array_of_literal(literals[found[1]]))})", text)
