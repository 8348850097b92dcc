#!/usr/bin/env python3
"""Swift in Python (Kumar et al., SIGCOMM 2020, Algorithm 1), as the preset ``paper``, for ``feedback: delays``.

Its argument is the number of switches on the path. Times are in picoseconds, windows in packets.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from fabemu.bench import ReactionPoint, serve  # noqa: E402

BASE, HOP, END = 20_000_000, 3_053_000, 20_000_000  # the targets: of the fabric, for each switch, of the destination
RANGE, SCALING_MIN, SCALING_MAX = 100_000_000, 0.1, 100  # what flow scaling adds at most, and between which windows
INCREASE, GAIN, MOST_DECREASE = 1, 0.8, 0.5
START, LEAST, MOST, RESET_AFTER = 12, 0.001, 1000, 5
SLOPE = RANGE / (1 / math.sqrt(SCALING_MIN) - 1 / math.sqrt(SCALING_MAX))
TARGET = BASE + HOP * (int(sys.argv[1]) if len(sys.argv) > 1 else 1)


class Window:
    def __init__(self, size):
        self.size, self.until = size, 0

    def move(self, now, trip, delay, target, packets):
        if delay >= target:
            self.fall(now, trip, max(1 - GAIN * (1 - target / delay), 1 - MOST_DECREASE))
        elif self.size >= 1:
            self.size += INCREASE * packets / self.size
        else:
            self.size += INCREASE * packets
        self.size = min(max(self.size, LEAST), MOST)

    def fall(self, now, trip, factor):  # once in a round trip
        if now >= self.until:
            self.size, self.until = self.size * factor, now + int(trip)


class Swift(ReactionPoint):
    name = "Swift in Python"

    def __init__(self, line, packet):
        super().__init__(line, packet)
        self.line, self.packet, self.trip, self.losses = line, packet, 0.0, 0
        self.fabric, self.end = Window(START), Window(MOST)
        self.set()

    def target(self):
        return TARGET + min(max(SLOPE / math.sqrt(self.fabric.size) - SLOPE / math.sqrt(SCALING_MAX), 0), RANGE)

    def feedback(self, now, kind, values):
        if kind == "lost":
            self.losses += 1
            if self.losses >= RESET_AFTER:
                self.fabric.size = LEAST
            else:
                self.fabric.fall(now, self.trip, 1 - MOST_DECREASE)
            self.fabric.size = max(self.fabric.size, LEAST)
        elif kind == "delay" and values.get("rtt"):
            rtt, held, packets = values["rtt"], values.get("held", 0), values.get("bytes", 0) / self.packet
            self.trip, self.losses = float(rtt + held), 0
            self.fabric.move(now, self.trip, rtt, self.target(), packets)
            self.end.move(now, self.trip, held, END, packets)
        else:
            return
        self.set()

    def set(self):
        window = min(self.fabric.size, self.end.size)
        self.window, self.rate = math.ceil(window * self.packet), self.line
        if window < 1 and self.trip > 0:  # one packet in a round trip over the window
            paced = window * self.packet * 8 * 1e12 / self.trip
            self.rate = int(min(max(math.floor(paced + 0.5), 1), self.line))


serve(Swift)
