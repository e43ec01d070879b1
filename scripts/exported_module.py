"""The folder that export_jax, export_tensorflow and export_pytorch write: a module, and what is known of its values.

  NAME.hlo       the program, with row-major parameters and results, named after the folder (rewritten as module.hlo where there is one)
  meta.json      name, type and dimensions of each parameter leaf p0, p1, … and each result leaf r0, r1, … (where the size is known only when the
                 program runs, the largest); tolerances
  inputs.npz     with values: the arguments it was exported with
  expected.npz   with values: what the framework itself computed from them

Together they are a case as testdata/cases holds them:

  xlac run --meta=meta.json --inputs=inputs.npz --expect=expected.npz NAME.hlo
"""

import json
import math
import pathlib
import re

import numpy

from entry_layouts import with_default_layouts

# Element types by the names that numpy and ml_dtypes have for them.
HLO_TYPES = {
    "bool": "pred", "int2": "s2", "int4": "s4", "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64",
    "uint2": "u2", "uint4": "u4", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
    "float4_e2m1fn": "f4e2m1fn", "float8_e3m4": "f8e3m4", "float8_e4m3": "f8e4m3", "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3b11fnuz": "f8e4m3b11fnuz", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0fnu",
}

# Those that numpy has without ml_dtypes.
NUMPY_TYPES = {name for name in HLO_TYPES if hasattr(numpy, "bool_" if name == "bool" else name)}

# What two compilers may differ by: relative to the element, and to the root of the mean square of its array.
TOLERANCES = {"f64": (1e-10, 1e-11), "c128": (1e-10, 1e-11), "f32": (1e-3, 2e-4), "c64": (1e-3, 2e-4)}
NARROW_TOLERANCE = (2e-2, 2e-2)  # f16, bf16
EXACT_TYPES = {"pred"} | {sign + str(bits) for sign in "su" for bits in (2, 4, 8, 16, 32, 64)}


def numpy_type(hlo_type):
    """The numpy type that the array of an HLO type has, which ml_dtypes adds where numpy has none."""
    return next(name for name, known in HLO_TYPES.items() if known == hlo_type)


class Leaf:
    """One parameter or result: |name| as the program's author knows it, and its |value|, anything numpy takes for an array.

    |dtype|: the name of the element type, where it is not that of the array, which then holds the same values.
    """

    def __init__(self, name, value, dtype=None):
        array = numpy.array(value)  # a copy: a donated argument is overwritten later
        dtype = dtype or array.dtype.name
        if dtype not in HLO_TYPES:
            raise TypeError(f"{name}: HLO has no element type '{dtype}'")
        self.name = name
        self.type = HLO_TYPES[dtype]
        self.dims = list(array.shape)
        self.array = array

    def stored(self):
        """As files hold it: floating types that numpy itself lacks as float32 of the same value, s2 and s4 as int8."""
        if self.array.dtype.isbuiltin == 1:
            return self.array
        narrow = {"s": numpy.int8, "u": numpy.uint8}.get(self.type[0], numpy.float32)
        return self.array.astype(narrow)

    def description(self):
        return {"name": self.name, "type": self.type, "dims": self.dims}


def result_description(leaf):
    """With the tolerances of a comparison; NaN and infinities have to be equal and say nothing about them."""
    if leaf.type in EXACT_TYPES:
        return {**leaf.description(), "rtol": 0, "atol": 0}
    wide = leaf.stored().astype(numpy.complex128 if leaf.type in ("c64", "c128") else numpy.float64)
    finite = wide[numpy.isfinite(wide)]
    mean_square = float(numpy.mean(numpy.abs(finite) ** 2)) if finite.size else 0.0
    rtol, share = TOLERANCES.get(leaf.type, NARROW_TOLERANCE)
    return {**leaf.description(), "rtol": rtol, "atol": share * math.sqrt(mean_square)}


def shape_text(type_name, dims):
    return f"{type_name}[{','.join(map(str, dims))}]"


def entry_leaves(text):
    """Type and dimensions of the parameter leaves and of the result leaves, as the module itself declares them: "8", or "<=8" for at most 8."""
    layout = re.search(r"entry_computation_layout=\{(.*)->(.*)", text)
    return [[(leaf, [dim for dim in dims.split(",") if dim]) for leaf, dims in re.findall(r"([a-z]\w*)\[([\d,<=]*)\]", side)]
            for side in layout.groups()]


def bound(dim):
    return int(dim.removeprefix("<="))


def agrees(leaf, declared):
    """Whether |leaf| can be what the module declares as a type and dimensions."""
    type_name, dims = declared
    return leaf.type == type_name and len(leaf.dims) == len(dims) and all(
        size == bound(dim) or dim.startswith("<=") and size < bound(dim) for size, dim in zip(leaf.dims, dims))


def check_leaves(what, leaves, declared):
    """The framework may drop, add or order leaves in ways its script does not know: better no case than a wrong one."""
    if len(leaves) != len(declared) or not all(map(agrees, leaves, declared)):
        known = ", ".join(f"{leaf.name}: {shape_text(leaf.type, leaf.dims)}" for leaf in leaves)
        raise ValueError(f"the module's {what} are {', '.join(shape_text(*each) for each in declared)}, not {known}")


def write(folder, text, origin, parameters, results, values):
    """Writes |text| and what is known of its leaves into |folder|, which is made; |values|: also what the leaves hold.

    |results| are needed for their types alone when |values| is false.  Returns the folder's path.
    """
    for what, leaves, declared in zip(("parameters", "results"), (parameters, results), entry_leaves(text)):
        check_leaves(what, leaves, declared)
        for leaf, (_, dims) in zip(leaves, declared):
            leaf.dims = [bound(dim) for dim in dims]
    if "constant({...})" in text:
        raise ValueError("the module was printed without its large constants")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = folder.resolve().name
    program = folder / "module.hlo"
    if not program.exists():  # objects and functions are named after the file: one that all share would make them collide
        program = folder / f"{name}.hlo"
    program.write_text(with_default_layouts(text))
    describe = result_description if values else Leaf.description
    meta = {"name": name, "origin": origin, "seed": 1,
            "params": [leaf.description() for leaf in parameters],
            "inputs": "inputs.npz" if values else "seed",
            "results": [describe(leaf) for leaf in results]}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    if values:
        numpy.savez(folder / "inputs.npz", **{f"p{i}": leaf.stored() for i, leaf in enumerate(parameters)})
        numpy.savez(folder / "expected.npz", **{f"r{i}": leaf.stored() for i, leaf in enumerate(results)})
    return folder
