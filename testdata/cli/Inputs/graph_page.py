"""What the pictures of `xlac graph --format=html` show: PAGE.  Fails when one of them is no XML."""

import re
import sys
import xml.etree.ElementTree as tree


def boxes_of(svg):
    return [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in svg.iter("rect")]


def overlap(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def main():
    page = open(sys.argv[1], encoding="utf-8").read()
    for name, picture in re.findall(r"<h2>(.*?)</h2>\n<div class=\"graph\">(<svg.*?</svg>)", page, re.DOTALL):
        svg = tree.fromstring(picture)
        boxes = boxes_of(svg)
        width, height = float(svg.get("width")), float(svg.get("height"))
        assert all(0 <= x and x + w <= width and 0 <= y and y + h <= height for x, y, w, h in boxes), name
        overlaps = sum(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
        print(f"{name}: {len(boxes)} boxes, {len(list(svg.iter('path')))} lines, {overlaps} overlaps")


main()
