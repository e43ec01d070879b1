"""Checks a trace: names of rows, and that what runs on one row does not overlap unless one lies in the other.

  trace.py FILE.json

Prints each row with what runs on it, in order of time.
"""

import collections
import json
import sys

SLACK = 1e-3  # microseconds: times are differences of large numbers


def main():
    events = json.load(open(sys.argv[1]))["traceEvents"]
    rows = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    for event in events:
        if event["name"] != "thread_name":
            continue
        row = sorted(rows[event["pid"], event["tid"]])
        around = []  # what has begun and not ended
        for begin, end, name in sorted(row, key=lambda piece: (piece[0], -piece[1])):
            while around and around[-1][0] <= begin + SLACK:
                around.pop()
            assert not around or end <= around[-1][0] + SLACK, (event, around[-1], name)
            around.append((end, name))
        print(f"{processes[event['pid']]}: {event['args']['name']}: {' '.join(name for _, _, name in row)}")
    phases = {name: (begin, end) for begin, end, name in rows[0, 0]}
    assert all(phases["passes"][0] - SLACK <= begin <= end <= phases["passes"][1] + SLACK for begin, end, _ in rows[0, 1])


if __name__ == "__main__":
    main()
