#!/usr/bin/env python3
"""AIMD in Python, the twin of docs/examples/aimd: a reaction point that adds a thousandth of the
line's rate for each ACK without a mark, and halves its rate for each that has one."""
import sys

line = rate = 0
for text in sys.stdin:
    word, *rest = text.split()
    if word == "hello":  # version, rate of the line, packet
        line = rate = int(rest[1])
        print("algorithm", rate, "never", "AIMD in Python", flush=True)
        continue
    if word == "feedback" and rest[1] == "ack":
        if "marked=1" in rest:
            rate = max(rate // 2, line // 256)
        else:
            rate = min(rate + line // 1000, line)
    print(rate, "never", flush=True)
