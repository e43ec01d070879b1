"""The tables of errors in docs/numerics.md: a row for each function or several, a column for each type and whose code it is."""

import math
import re

OF_TWO = ("power", "atan2", "divide")
TABLE = re.compile(r"^\| function \|.*\n\|[-|]*\n(?:\|.*\n)*", re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
SWEPT = re.compile(r"every \d+(?:st|nd|rd|th) bit pattern")


def cells_of(line):
    return [cell.strip() for cell in CELL.split(line)[1:-1]]


def functions_of(cell):
    """Those of one argument that the first cell of a row names."""
    return [name for name in re.findall(r"`([a-z0-9-]+)`", cell) if name not in OF_TWO]


def own_bounds(text, kind):
    """By function, of the tables that have a column |kind|; not of what was not measured."""
    found = {}
    for table in TABLE.findall(text):
        titles, _, *rows = map(cells_of, table.splitlines())
        if kind in titles:
            column = titles.index(kind)
            found.update({name: float(row[column].replace("∞", "inf")) for row in rows for name in functions_of(row[0]) if row[column] != "–"})
    return found


def rounded_up(units):
    if not math.isfinite(units):
        return "∞"
    return f"{math.ceil(units * 100 - 1e-6) / 100:g}" if units < 1000 else f"{units:.1e}"


def with_column(text, title, found):
    """|text| with the numbers |found| of functions in the column |title|, the largest of those in a row."""
    def line_of(cells, column):
        units = [found[name] for name in functions_of(cells[0]) if name in found]
        return "| " + " | ".join(rounded_up(max(units)) if units and i == column else cell for i, cell in enumerate(cells)) + " |"

    def table_of(match):
        titles, rule, *rows = match[0].splitlines()
        column = cells_of(titles).index(title) if title in cells_of(titles) else None
        return match[0] if column is None else "\n".join([titles, rule, *(line_of(cells_of(row), column) for row in rows)]) + "\n"

    return TABLE.sub(table_of, text)


def with_stride(text, stride):
    ending = "th" if stride // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(stride % 10, "th")
    return SWEPT.sub(f"every {stride}{ending} bit pattern", text)
