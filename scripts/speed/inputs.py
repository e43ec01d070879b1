"""Inputs of a workload, for all that run it: rules as in a test case's meta.json, numbers of NumPy's own generator."""

import json
import pathlib
import re

TYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "c64": "<c8", "c128": "<c16", "pred": "|b1", "bf16": "<f4", "f8e4m3fn": "<f4", "f8e5m2": "<f4",
         **{f"{kind}{bits}": f"<{letter}{bits // 8}" for kind, letter in (("s", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
         "s4": "|i1", "u4": "|u1", "s2": "|i1", "u2": "|u1"}


def parameters(text):
    """(type, dimensions) of each leaf of the entry's parameters, in order."""
    entry = text[re.search(r"^ENTRY\b", text, re.MULTILINE).start():]
    found = {}
    for shape, number in re.findall(r"=\s*(\([^=]*?\)|\S+)\s+parameter\((\d+)\)", entry):
        found[int(number)] = re.findall(r"\b([a-z]+\d*(?:e\d+m\d+[a-z]*)?|pred)\[([\d,]*)\]", re.sub(r"/\*.*?\*/", "", shape))
    return [(type, [int(d) for d in dims.split(",") if d]) for number in sorted(found) for type, dims in found[number]]


def make(generator, type, dims, rule):
    import numpy

    is_real = TYPES[type][1] in "fc"
    kind = rule.get("kind", "normal" if is_real else "int")
    if kind in ("normal", "absnormal"):
        values = generator.standard_normal(dims, numpy.float32)
        if TYPES[type][1] == "c":
            values = values + 1j * generator.standard_normal(dims, numpy.float32)
        values = abs(values) if kind == "absnormal" else values
        values = values * rule.get("scale", 1.0) + rule.get("offset", 0.0)
    elif kind in ("uniform", "sorted_uniform"):
        values = generator.random(dims) * (rule.get("hi", 1.0) - rule.get("lo", 0.0)) + rule.get("lo", 0.0)
    elif kind == "int":
        values = generator.integers(rule.get("lo", 0), rule.get("hi", 2 if type == "pred" else 8), dims)
    elif kind == "const":
        values = numpy.full(dims, rule["value"])
    elif kind == "iota":
        values = numpy.arange(numpy.prod(dims, dtype=int)).reshape(dims) % (rule.get("mod") or 1 << 62)
    elif kind == "bits":
        size = numpy.dtype(TYPES[type]).itemsize
        return numpy.frombuffer(generator.bytes(size * int(numpy.prod(dims, dtype=int))), TYPES[type]).reshape(dims)
    else:
        raise ValueError(f"rule '{kind}'")
    return numpy.asarray(values).astype(TYPES[type])


def write(module, path):
    """Writes p0, p1, … for the module to the .npz |path|; the bytes that they are in memory."""
    import numpy

    module = pathlib.Path(module)
    leaves = parameters(module.read_text())
    meta = next((json.loads(file.read_text()) for file in (module.with_suffix(".json"), module.parent / "meta.json") if file.is_file()), {})
    rules = [p.get("init") or {} for p in meta.get("params", [])]
    stored = module.parent / "inputs.npz"
    given = dict(numpy.load(stored)) if stored.is_file() else {}
    generator = numpy.random.default_rng(1)
    arrays = {f"p{i}": given.get(f"p{i}") if f"p{i}" in given else make(generator, type, dims, rules[i] if i < len(rules) else {})
              for i, (type, dims) in enumerate(leaves)}
    numpy.savez(path, **arrays)


if __name__ == "__main__":
    import sys

    write(*sys.argv[1:])
