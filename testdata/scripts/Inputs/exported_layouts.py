"""exported_layouts.py ROOT: the modules of standard input, one a line, with the layouts that an exported module declares."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts"))
from entry_layouts import with_default_layouts  # noqa: E402

for line in sys.stdin:
    print(with_default_layouts(line), end="")
