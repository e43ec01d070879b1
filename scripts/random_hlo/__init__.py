"""Random HLO modules, made by shape: a result's is drawn, then an operation that can produce it, then its operands, and so on; subtrees are
shared.  core: values, types, a computation under construction; the others hold a maker per operation."""

from . import calls, contractions, dynamic, elements, folds, indices, movement
from .core import Module, Node, TOLERANCE, close, random_module, results_of
