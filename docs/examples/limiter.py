#!/usr/bin/env python3
"""A token bucket of 3000 bytes in Python, for fabemu bench limiter --exec docs/examples/limiter.py."""
import sys

UNIT, DEPTH = 8 * 10**12, 3000  # rate (b/s) times time (ps) is bytes times UNIT
level, filled, rate = DEPTH * UNIT, 0, 0


def fill(now):
    global level, filled
    level, filled = min(DEPTH * UNIT, level + rate * (now - filled)), now


for line in sys.stdin:
    word, *numbers = line.split()
    a, b = (int(n) for n in numbers[:2])
    answer = "ok"
    if word == "hello":  # version, rate, packet
        rate, answer = b, f"limiter {DEPTH} token bucket in Python"
    else:  # the instant, and bytes or a rate
        fill(a)
        if word == "next":
            short = min(b, DEPTH) * UNIT - level
            answer = a if short <= 0 else a - (-short // rate) if rate else "never"
        elif word == "sent":
            level -= b * UNIT
        elif word == "rate":
            rate = b
    print(answer, flush=True)
