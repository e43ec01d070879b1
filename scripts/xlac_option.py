"""The option --xlac of the scripts here: the compiler that they run, build/xlac where it is not given."""

import argparse
import pathlib

BUILT = pathlib.Path(__file__).resolve().parent.parent / "build" / "xlac"


def program(name):
    path = pathlib.Path(name)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no '{name}': 'make' builds build/xlac")
    return path.resolve()


def add_xlac_option(parser):
    parser.add_argument("--xlac", type=program, default=str(BUILT), help="the compiler (default: build/xlac)")
