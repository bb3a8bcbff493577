"""Runs the Python predecessor's engine for compare.py: see there for what is said."""

import json
import os
import sys
import time
from pathlib import Path

from bouncer.approvals import ApprovalStore
from bouncer.audit import AuditLog
from bouncer.engine import ContractEngine
from bouncer.policy import PolicyResolver, load_policies
from bouncer.taint import TaintTracker
from bouncer.types import ToolCall

policy, calls_file = sys.argv[1:]
calls = []
for line in Path(calls_file).read_text().splitlines():
    call = json.loads(line)
    calls.append(ToolCall(tool=call["tool"], args=call["args"]))

start = time.thread_time_ns()
engine = ContractEngine(
    resolver=PolicyResolver(load_policies([Path(policy)]), use_heuristics=False),
    taint=TaintTracker(),
    approvals=ApprovalStore(),
    audit=AuditLog(Path(os.devnull)),
    schemas={call.tool: {} for call in calls},
)
load = time.thread_time_ns() - start

verdicts = [engine.evaluate(call).verdict.value for call in calls]
print(json.dumps({"load": load, "verdicts": verdicts}), flush=True)

# Without the audit line that `evaluate` writes: only the decision is compared.
decide = engine._decide
for line in sys.stdin:
    passes = int(line)
    start = time.thread_time_ns()
    for _ in range(passes):
        for call in calls:
            decide(call)
    print((time.thread_time_ns() - start) / passes / len(calls), flush=True)
