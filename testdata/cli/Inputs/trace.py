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
        for before, after in zip(row, row[1:]):
            assert after[0] >= before[1] - SLACK, (event, before, after)
        print(f"{processes[event['pid']]}: {event['args']['name']}: {' '.join(name for _, _, name in row)}")
    phases = {name: (begin, end) for begin, end, name in rows[0, 0]}
    assert all(phases["passes"][0] - SLACK <= begin <= end <= phases["passes"][1] + SLACK for begin, end, _ in rows[0, 1])


if __name__ == "__main__":
    main()
