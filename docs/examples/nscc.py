#!/usr/bin/env python3
"""NSCC in Python, Ultra Ethernet's control at the sender (uet-htsim, uec.cpp), for ``feedback: delays`` with UET.

Its arguments are the round trip without queues, in picoseconds, and the payload of packets, in bytes. Times are in
picoseconds, windows in bytes; both are rounded down after each operation, as in the model.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from fabemu.bench import ReactionPoint, serve  # noqa: E402

NETWORK, PAYLOAD = (int(a) for a in sys.argv[1:3])
MOST_WINDOW, TARGET_SHARE, REFERENCE_BDP, REFERENCE_TRIP = 1.5, 0.75, 150_000, 12_000_000
PROPORTIONAL, FAIR, ETA, FAST, FAST_DELAY = 4, 5, 0.15, 0.25, 1_000_000
GAMMA, MOST_DECREASE, DELAY_GAIN, UNMARKED_SHARE = 0.8, 0.5, 0.0125, 0.25
ADJUST_PACKETS, GATE, ADAPT_DELAY = 8, 3, 4


class NSCC(ReactionPoint):
    name = "NSCC in Python"

    def __init__(self, line, packet):
        super().__init__(line, packet)
        self.line, self.least, self.base = line, packet, NETWORK
        self.target = max(int(NETWORK * TARGET_SHARE), 1)
        bdp = int(NETWORK / 1e12 * (line // 8))
        scale = bdp / REFERENCE_BDP
        self.alpha = PROPORTIONAL * PAYLOAD * scale * (self.target / REFERENCE_TRIP) / self.target
        self.fair, self.eta, self.share = FAIR * PAYLOAD * scale, ETA * PAYLOAD * scale, FAST * scale
        self.window = self.most = int(MOST_WINDOW * bdp)
        self.average = self.increase = self.since = self.calm = 0
        self.delivered = self.ends = self.ignores = self.ignored = self.adjusted = self.decreased = 0
        self.fast = self.trimmed = False

    def feedback(self, now, kind, values):
        count, rtt, flight = values.get("bytes", 0), values.get("rtt", 0), values.get("flight", 0)
        if kind == "delay":
            self.acked(now, count, rtt, flight, "marked" in values)
        elif kind == "trimmed":
            self.cut(now, count, rtt, flight)
        elif kind == "expired":
            self.window = max(self.window - count, self.least)
        elif kind == "lost":
            self.window = max(self.window - self.least, self.least)

    def acked(self, now, count, rtt, flight, marked):
        self.delivered += count
        self.since += count
        self.ignored += count
        delay = self.average
        if rtt:
            self.learn(rtt)
            delay = rtt - self.base
            self.measure(delay, marked)
        if self.adapt(now, marked, False, delay, flight):
            return
        if not marked and delay >= self.target:
            self.increase = int(self.increase + self.fair * count)
        elif not marked:
            self.proportional(count, delay)
        elif delay >= self.target:
            self.fall(now)
        self.bound()
        if self.since > ADJUST_PACKETS * self.least or now - self.adjusted > NETWORK:
            self.adjust(now)
        self.bound()

    def learn(self, rtt):
        if rtt < self.base:
            self.base = rtt
            self.most = int(MOST_WINDOW * int(rtt / 1e6 * self.line / 8e6))

    def measure(self, delay, marked):
        sample = DELAY_GAIN * delay
        if not marked and delay > self.target:
            sample = DELAY_GAIN * self.base * UNMARKED_SHARE
        self.average = int(sample + (1 - DELAY_GAIN) * self.average)

    def proportional(self, count, delay):
        if delay < FAST_DELAY:
            self.calm += count
            if self.calm > self.window or self.fast:
                self.window = int(self.window + count * self.share)
                self.fast = True
                return
        else:
            self.calm = 0
        self.fast = False
        self.increase = int(self.increase + self.alpha * count * (self.target - delay))

    def fall(self, now):  # once in a round trip
        self.fast, self.calm = False, 0
        if self.average > self.target and now - self.decreased > self.base:
            excess = GAMMA * (self.average - self.target) / self.average
            self.window = max(int(self.window * max(1 - excess, 1 - MOST_DECREASE)), self.least)
            self.decreased = now

    def adjust(self, now):
        self.window += self.increase // self.window
        if now - self.adjusted >= NETWORK:
            self.window = int(self.window + self.eta)
            self.adjusted = now
        self.increase = self.since = 0

    def adapt(self, now, marked, loss, delay, flight):
        done = self.ignored < self.ignores and marked
        if not done and now > self.ends:
            if self.ends and (self.trimmed or loss or delay > ADAPT_DELAY * self.target) and self.delivered < self.most >> GATE:
                self.window = max(self.delivered, self.least)
                self.ignores, self.ignored, self.trimmed, done = flight, 0, False, True
            self.delivered, self.ends = 0, now + self.base + self.target
        if done:
            self.increase = self.since = 0
        return done

    def bound(self):
        self.window = max(min(self.window, self.most), self.least)

    def cut(self, now, count, rtt, flight):
        if rtt:
            self.learn(rtt)
        self.ignored += count
        self.measure(NETWORK, True)
        self.trimmed = True
        if not self.adapt(now, True, True, 0, flight):
            self.window -= count
            self.bound()


serve(NSCC)
