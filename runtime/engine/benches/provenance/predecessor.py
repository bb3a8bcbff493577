"""Times the Python predecessor on the outputs and destinations of a JSON file.

Needs the package `bouncer-core` (0.1.4 was measured) on the path, for example by
`pip install --target DIR bouncer-core==0.1.4` and `PYTHONPATH=DIR`. Prints the
nanoseconds of CPU time that one check takes.
"""

import json
import sys
import time

from bouncer.taint import TaintTracker

with open(sys.argv[1], encoding="utf-8") as file:
    data = json.load(file)
tracker = TaintTracker()
for output in data["outputs"]:
    tracker.record_output(output)
rounds = []
for _ in range(3):
    started = time.thread_time_ns()
    for destination in data["asked"]:
        tracker.classify(destination)
    rounds.append((time.thread_time_ns() - started) / len(data["asked"]))
print(sorted(rounds)[1])
