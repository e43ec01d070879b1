"""Prints the workspace that a page (--report=html) draws: page_curve.py PAGE.  Its size and lower bound, then live bytes from each position on."""

import json
import re
import sys

data = json.loads(re.search(r'id="memory-data">\n(.*)\n</script>', open(sys.argv[1]).read()).group(1))
workspace = data["regions"][0]
print(f"size {workspace['size']}, bound {workspace['bound']}")
changes = {}
for buffer in data["buffers"]:
    for start, stop in buffer["lives"] if buffer["region"] == 0 else []:
        changes[start] = changes.get(start, 0) + buffer["size"]
        changes[stop] = changes.get(stop, 0) - buffer["size"]
live = 0
for position in sorted(changes):
    live += changes[position]
    print(f"{position} {data['steps'][position][0] if position < data['length'] else 'end'} {live}")
