#!/usr/bin/env python3
"""HPCC in Python (Li et al., SIGCOMM 2019, Algorithm 1), with the parameters of the paper, for ``feedback: telemetry``.

Its argument is the maximum round trip without queues, in picoseconds. The first window is what the line carries in it.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from fabemu.bench import ReactionPoint, serve  # noqa: E402

ETA, MAX_STAGE, INCREASE, LEAST = 0.95, 5, 80, 100_000_000  # the least rate in b/s
TRIP = int(sys.argv[1]) if len(sys.argv) > 1 else 13_000_000
SECONDS = TRIP / 1e12


class HPCC(ReactionPoint):
    name = "HPCC in Python"

    def __init__(self, line, packet):
        super().__init__(line, packet)
        self.line, self.most, self.least = line, line / 8 * SECONDS, LEAST / 8 * SECONDS
        self.u, self.stage, self.until, self.before = 1.0, 0, 0, []
        self.set(self.most)
        self.reference = self.exact

    def set(self, window):
        self.exact = min(max(window, self.least), self.most)
        self.window = int(self.exact)
        self.rate = min(math.floor(self.exact * 8 / SECONDS + 0.5), self.line)

    def feedback(self, now, kind, values):
        if kind != "delay" or not values.get("hops"):
            return
        keys = ("time", "sent", "queue", "rate")
        hops = [tuple(values.get(f"{key}{i}", 0) for key in keys) for i in range(1, values["hops"] + 1)]
        before, self.before = self.before, hops
        if len(hops) != len(before):  # the first, or another path
            self.until = values["next"]
            return
        worst, tau = -1.0, 0
        for (time, sent, queue, rate), (time0, sent0, queue0, _) in zip(hops, before):
            if time > time0 and rate > 0:
                u = (sent - sent0) / ((time - time0) / 1e12 * (rate / 8)) + min(queue, queue0) / (rate / 8 * SECONDS)
                if u > worst:
                    worst, tau = u, time - time0
        if not tau:
            return
        share = min(tau, TRIP) / 1e12 / SECONDS
        self.u = (1 - share) * self.u + share * worst
        if self.u <= 0:
            return
        window, stage = self.reference + INCREASE, self.stage + 1
        if self.u >= ETA or self.stage >= MAX_STAGE:
            window, stage = self.reference / (self.u / ETA) + INCREASE, 0
        self.set(window)
        if values.get("oldest", 0) > self.until:
            self.reference, self.stage, self.until = self.exact, stage, values["next"]


serve(HPCC)
