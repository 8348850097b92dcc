#!/usr/bin/env python3
"""Verifies the ICRC of RoCEv2 over IPv4 in a capture, from the standard alone (Annex A17 of the InfiniBand
specification, section A17.3.3.1.5): it shares nothing with the program.

Usage: scripts/lab/icrc.py CAPTURE    pcapng with whole frames, as by fabemu run --pcap --pcap-snap 0

Prints "N ICRCs are right, N are wrong, N other frames", and ends with status 1 if one is wrong or there is none.
"""

import struct
import sys
import zlib


def frames(data):
    """The frames of a pcapng in the byte order of its section, without records of which nothing is kept."""
    at, order = 0, "<"
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, size = struct.unpack_from(order + "II", data, at)
        if size < 12:
            sys.exit(f"icrc: at byte {at} there is no block of pcapng")
        if kind == 6:
            kept, length = struct.unpack_from(order + "II", data, at + 20)
            if 0 < kept < length:
                sys.exit("icrc: the frames are cut: capture with --pcap-snap 0")
            if kept:
                yield data[at + 28:at + 28 + kept]
        at += size


def right(frame):
    """Whether the ICRC of a frame is right; None: it is not RoCEv2 over IPv4."""
    at = 12
    while frame[at:at + 2] == b"\x81\x00":
        at += 4
    ip = frame[at + 2:]
    if frame[at:at + 2] != b"\x08\x00" or len(ip) < 20 or ip[9] != 17:
        return None
    size = (ip[0] & 15) * 4
    udp = ip[size:struct.unpack_from(">H", ip, 2)[0]]
    if len(udp) < 8 + 12 + 4 or struct.unpack_from(">H", udp, 2)[0] != 4791:
        return None
    masked = bytearray(b"\xff" * 8 + ip[:size] + udp[:-4])  # what routers and switches change is all ones
    for changing in (1, 8, 10, 11, size + 6, size + 7, size + 8 + 4):  # DSCP and ECN, TTL, checksums, resv8a of the BTH
        masked[8 + changing] = 0xFF
    return zlib.crc32(masked) == struct.unpack("<I", udp[-4:])[0]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        found = [right(f) for f in frames(file.read())]
    print(f"{found.count(True)} ICRCs are right, {found.count(False)} are wrong, {found.count(None)} other frames")
    sys.exit(0 if found.count(True) and not found.count(False) else 1)


main()
