#!/usr/bin/env python3
"""Turns a case folder into C: case_to_c.py testdata/cases/NAME > NAME_case.c defines `const CaseData NAME_case`.

Only what the example uses: f32 and s32, the rules normal, uniform and int.  Needs nothing but Python's own library.
"""

import ast
import json
import pathlib
import struct
import sys
import zipfile

FORMATS = {"<f4": ("f", 4, float.hex), "<i4": ("i", 4, str)}


def read_npz(path):
    """name -> (struct letter, values, C text of a value)"""
    arrays = {}
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                data = archive.read(name)
                (size,) = struct.unpack_from("<H", data, 8)
                header = ast.literal_eval(data[10:10 + size].decode())
                letter, width, text = FORMATS[header["descr"]]
                count = (len(data) - 10 - size) // width
                arrays[name.removesuffix(".npy")] = (letter, struct.unpack_from(f"<{count}{letter}", data, 10 + size), text)
    return arrays


def array(name, letter, values, text):
    kind = {"f": "float", "i": "int32_t"}[letter]
    return f"static const {kind} {name}[] = {{{', '.join(text(value) for value in values)}}};"


def input_text(number, parameter, stored):
    if f"p{number}" in stored:
        return f"{{.kind = INPUT_STORED, .data = p{number}}}"
    rule = {"kind": "int" if parameter["type"] == "s32" else "normal", **(parameter["init"] or {})}
    if rule["kind"] == "normal":
        return f"{{.kind = INPUT_NORMAL, .scale = {rule.get('scale', 1.0)!r}, .offset = {rule.get('offset', 0.0)!r}}}"
    kind, top = {"uniform": ("INPUT_UNIFORM", 1.0), "int": ("INPUT_INTEGER", 8)}[rule["kind"]]
    return f"{{.kind = {kind}, .lo = {float(rule.get('lo', 0))!r}, .hi = {float(rule.get('hi', top))!r}}}"


def main():
    folder = pathlib.Path(sys.argv[1])
    meta = json.loads((folder / "meta.json").read_text())
    stored, expected = read_npz(folder / "inputs.npz"), read_npz(folder / "expected.npz")
    lines = [f"/* made from {folder.name} by examples/case_to_c.py */", '#include "examples/case_data.h"', "",
             f"extern const CaseData {folder.name}_case;", ""]
    lines += [array(name, *values) for name, values in {**stored, **expected}.items()]
    inputs = [input_text(number, parameter, stored) for number, parameter in enumerate(meta["params"])]
    results = [f"{{.stride = {result.get('sample_stride', 1)}, .count = {len(expected[f'r{number}'][1])}, "
               f".rtol = {result.get('rtol', meta['rtol'])!r}, .atol = {result.get('atol', meta['atol'])!r}, .values = r{number}}}"
               for number, result in enumerate(meta["results"])]
    lines += ["static const CaseInput inputs[] = {\n    " + ",\n    ".join(inputs) + "};",
              "static const CaseResult results[] = {\n    " + ",\n    ".join(results) + "};",
              f"const CaseData {folder.name}_case = {{{meta['seed']}, {len(inputs)}, {len(results)}, inputs, results}};"]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
