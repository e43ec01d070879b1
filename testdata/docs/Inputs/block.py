"""Prints the fenced block of a Markdown file that contains a text: block.py FILE TEXT"""

import pathlib
import re
import sys

blocks = re.findall(r"^```\w*\n(.*?)^```$", pathlib.Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)
found = [block for block in blocks if sys.argv[2] in block]
if len(found) != 1:
    sys.exit(f"{sys.argv[1]}: {len(found)} blocks with '{sys.argv[2]}'")
sys.stdout.write(found[0])
