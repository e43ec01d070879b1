"""Checks the data of pages (--report=html) against themselves: page_data.py PAGE…; a kind after '=' must occur: page.html=guest.

Buffers lie in their regions, values within the lives and bytes of their buffers, no two buffers share a byte at a time (constants with the same
contents aside), neither the most live bytes of the workspace nor the lower bound is above its size, and names in the tables that lead anywhere lead to a buffer."""

import json
import re
import sys

DATA = re.compile(r'id="memory-data">\n(.*)\n</script>')


def check_buffer(buffer, data):
    assert 0 <= buffer["offset"] and buffer["offset"] + buffer["size"] <= data["regions"][buffer["region"]]["size"], buffer
    end = -1
    for start, stop in buffer["lives"]:
        assert end < start < stop <= data["length"], buffer
        end = stop
    assert buffer["values"], buffer
    for value in buffer["values"]:
        assert value["bytes"] <= buffer["size"] and value["lives"], value
        for start, stop in value["lives"]:
            assert any(first <= start and stop <= last for first, last in buffer["lives"]), (buffer, value)
        assert all(0 <= reader < data["length"] for reader in value["readers"]), value


def check_apart(buffers):
    changes = sorted((time, begins, number) for number, buffer in enumerate(buffers) for life in buffer["lives"]
                     for begins, time in enumerate(reversed(life)))
    alive = {}
    for _, begins, number in changes:
        one = buffers[number]
        if not begins:
            del alive[number]
            continue
        for other in alive.values():
            is_apart = one["offset"] + one["size"] <= other["offset"] or other["offset"] + other["size"] <= one["offset"]
            assert is_apart or {one["kind"], other["kind"]} == {"constant"}, (one, other)
        alive[number] = one


def most_alive(buffers):
    changes = sorted((time, size) for buffer in buffers for start, stop in buffer["lives"] for time, size in
                     ((start, buffer["size"]), (stop, -buffer["size"])))
    most = now = 0
    for _, size in changes:
        now += size
        most = max(most, now)
    return most


def main():
    for argument in sys.argv[1:]:
        path, _, kind = argument.partition("=")
        data = json.loads(DATA.search(open(path).read()).group(1))
        assert data["length"] == len(data["steps"]) and data["buffers"], path
        for buffer in data["buffers"]:
            check_buffer(buffer, data)
        for region in range(len(data["regions"])):
            check_apart([buffer for buffer in data["buffers"] if buffer["region"] == region])
        most = most_alive([buffer for buffer in data["buffers"] if buffer["region"] == 0])
        workspace = data["regions"][0]
        assert 0 < most <= workspace["size"] and 0 < workspace["bound"] <= workspace["size"], (path, most, workspace)
        assert not kind or any(buffer["kind"] == kind for buffer in data["buffers"]), (path, kind)
    print(len(sys.argv) - 1, "pages")


main()
