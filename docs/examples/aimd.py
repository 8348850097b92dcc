#!/usr/bin/env python3
"""AIMD in Python, for fabemu bench limiter --exec docs/examples/aimd.py: a reaction point that
halves its rate with each notification, and adds a hundredth of the line each millisecond."""
import sys

PERIOD = 10**9  # ps
line = rate = due = 0
for text in sys.stdin:
    word, *rest = text.split()
    now = int(rest[0])
    if word == "hello":  # version, rate of the line, packet
        line = rate = int(rest[1])
        print("algorithm", rate, "never", "AIMD in Python", flush=True)
        continue
    if word == "feedback" and (rest[1] != "ack" or "marked=1" in rest):
        rate, due = max(rate // 2, line // 1000), due or now + PERIOD
    while due and due <= now:
        rate, due = min(line, rate + line // 100), due + PERIOD
    if rate == line:
        due = 0
    print(rate, due or "never", flush=True)
