"""The layouts of parameters and results that a module's first line declares.  Python's standard library only."""

import re

DECLARED = re.compile(r"\]\{([\d,]+)(:[^{}]*)?\}")


def declared_layout(text):
    """Start and end of what stands between the braces of entry_computation_layout; None where the module has none."""
    start = re.match(r"HloModule [^\n]*?\bentry_computation_layout=\{", text)
    if start is None:
        return None
    depth, end = 1, start.end()
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return start.end(), end - 1


def row_major(match):
    rank = match[1].count(",") + 1
    return "]{" + ",".join(str(rank - 1 - i) for i in range(rank)) + (match[2] or "") + "}"


def with_default_layouts(text):
    """|text| with all parameters and results row major.

    A framework that turns its program into HLO gives a transposed result the layout in which nothing moves, and asks for the default ones when it compiles.
    """
    place = declared_layout(text)
    if place is None:
        return text
    start, end = place
    return text[:start] + DECLARED.sub(row_major, text[start:end]) + text[end:]
