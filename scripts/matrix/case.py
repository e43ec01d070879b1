"""A case of the matrix: instructions, inputs and results, which become part of a module."""

import collections
import itertools
import math
import zipfile

from .compare import EXACT
from .npy import npy_bytes
from .types import Values


Parameter = collections.namedtuple("Parameter", "kind dims layout values")


class Result(collections.namedtuple("Result", "name kind dims layout rule is_recorded")):
    @property
    def size(self):
        return size_of(self.dims)


def text_of(kind, dims, layout=None):
    text = f"{kind}[{','.join(map(str, dims))}]"
    return text + ("{" + ",".join(map(str, layout)) + "}" if layout is not None else "")


def size_of(dims):
    return math.prod(dims)


class Case:
    """One entry of the table: instructions whose names begin with '@', replaced by a prefix of the case's own.  |unrecorded|: why XLA's
    result means nothing.  One that is not |wanted| makes no values."""

    def __init__(self, name, seed, rule=EXACT, unrecorded="", wanted=True):
        self.wanted = wanted
        self.name, self.rule, self.unrecorded, self.values = name, rule, unrecorded, Values(f"{seed} {name}")
        self.computations, self.lines, self.parameters, self.results = [], [], [], []
        self.count = 0

    @property
    def random(self):
        return self.values.random

    def parameter(self, kind, dims, values, layout=None):
        self.parameters.append(Parameter(kind, tuple(dims), layout, values))
        return f"@p{len(self.parameters) - 1}"

    def input(self, kind, dims, style="edge", layout=None, shift=0, most=0):
        values = self.values.make(kind, size_of(dims), style, most, shift) if self.wanted else ()
        return self.parameter(kind, dims, values, layout)

    def add(self, kind, dims, expression, layout=None):
        """|kind| may be the text of a whole shape, with |dims| None."""
        name = f"@v{self.count}"
        self.count += 1
        shape = kind if dims is None else text_of(kind, dims, layout)
        self.lines.append(f"{name} = {shape} {expression}")
        return name

    def keep(self, kind, dims, expression, layout=None, is_recorded=True):
        """The same, and a result to compare, with XLA's if |is_recorded|."""
        name = self.add(kind, dims, expression, layout)
        self.results.append(Result(name, kind, tuple(dims), layout, self.rule, is_recorded))
        return name

    @property
    def recorded_results(self):
        return [result for result in self.results if result.is_recorded]

    def computation(self, body):
        name = f"@c{len(self.computations)}"
        self.computations.append(f"{name} {{\n" + "".join(f"  {line}\n" for line in body) + "}\n")
        return name


def module_of(cases, only_recorded=False):
    computations, lines, roots, shapes = [], [], [], []
    number = 0
    for index, case in enumerate(cases):
        prefix = f"k{index}_"
        computations += [text.replace("@", prefix) for text in case.computations]
        for i, parameter in enumerate(case.parameters):
            lines.append(f"{prefix}p{i} = {text_of(parameter.kind, parameter.dims, parameter.layout)} parameter({number})")
            number += 1
        lines += [line.replace("@", prefix) for line in case.lines]
        results = case.recorded_results if only_recorded else case.results
        roots += [result.name.replace("@", prefix) for result in results]
        shapes += [text_of(result.kind, result.dims, result.layout) for result in results]
    body = "".join(f"  {line}\n" for line in lines)
    return ("HloModule matrix\n\n" + "\n".join(computations) + "\nENTRY main {\n" + body +
            f"  ROOT result = ({', '.join(shapes)}) tuple({', '.join(roots)})\n}}\n")


SHAPES = [((), None), ((0,), None), ((1,), None), ((15,), None), ((16,), None), ((17,), None), ((31,), None), ((32,), None),
          ((33,), None), ((63,), None), ((64,), None), ((65,), None), ((101,), None), ((7, 13), None), ((5, 0, 3), None),
          ((5, 19), (0, 1)), ((3, 4, 17), (0, 2, 1)), ((2, 1, 5, 11), None), ((2, 3, 1, 4, 5), (2, 0, 4, 1, 3)),
          ((2, 1, 3, 2, 1, 7), (5, 0, 3, 1, 4, 2))]
FEW_SHAPES = [((), None), ((17,), None), ((64,), None), ((7, 13), None), ((5, 19), (0, 1)), ((2, 3, 1, 4, 5), (2, 0, 4, 1, 3))]


def write_batch(folder, cases):
    """module.hlo and in.npz."""
    (folder / "module.hlo").write_text(module_of(cases))
    with zipfile.ZipFile(folder / "in.npz", "w") as archive:
        for i, parameter in enumerate(itertools.chain.from_iterable(case.parameters for case in cases)):
            archive.writestr(f"p{i}.npy", npy_bytes(parameter.kind, parameter.dims, parameter.values))
