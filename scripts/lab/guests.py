#!/usr/bin/env python3
"""Throughput, processor time and round trip of guests, compared with tc htb and with Mininet's shaping, in turns.

Prints a table for docs/notes/validation.md with the lowest and the highest figure of all rounds. A round takes some 70 s, on a
machine that does nothing else. Needs root, iperf3, ping and tc. Removes what it makes.

Usage: scripts/lab/guests.py [--update] [ROUNDS]

  --update  writes the table into docs/notes/validation.md
  ROUNDS    how many rounds (default 5)

The three ways to join namespaces, at 100 Mb/s and at 1 Gb/s:

  fabemu    guests at a switch, PFC on all links, dilation 1
  htb       tc htb on both ends of a veth pair for each sender, a bridge at the receiver
  Mininet   tc htb with a burst of 15 KB on both ends of each veth pair, and a bridge between them, as its TCLink has it
"""
import json, os, re, subprocess, sys, tempfile, time

DOC = "docs/notes/validation.md"
SECONDS = 3  # of iperf3
PACKET = 1448  # bytes of data in a segment
# The processor time of the machine is printed in front of the figures of iperf3 and after them.
CLIENT = "head -n 1 /proc/stat; iperf3 -c %s -p 520%d -t %d -J; head -n 1 /proc/stat"
SERVER = "for i in $(seq %d); do iperf3 -s -1 -p 520$i >/dev/null & done; wait"
PING = "ping -c 500 -i 0.002 %s; ping -c 100 -i 0.01 %s"


def shell(command):
    return subprocess.run(command, shell=True, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def fabemu(program, folder, rate, senders):
    """Runs guests under fabemu, and returns the outputs of ping and of the clients."""
    path = os.path.join(folder, "guests.yaml")
    clients = "".join(
        f'  - {{name: client{i}, at: 3s, on: s{i}, run: "{CLIENT % ("r", i, SECONDS)}"}}\n' for i in range(1, senders + 1))
    with open(path, "w") as f:
        f.write(f"""
name: guests
model: {{duration: {SECONDS + 5}s}}
wall: {{dilation: 1}}
defaults: {{link: {{rate: {rate}b/s, flow-control: pfc, propagation: 5us}}, flow: {{packet: 1600B}}}}
switches: {{S: {{kind: output-queued}}}}
endpoints: [{{name: "s[1-{senders}]", guest: {{kind: tun, tcp: reno}}}}, {{name: r, guest: {{kind: tun, tcp: reno}}}}]
links: ["s[1-{senders}] - S", r - S]
flows: [{{name: there, from: "s[1-{senders}]", to: r}}, {{name: back, from: r, to: "s[1-{senders}]"}}]
programs:
  - {{name: server, on: r, run: "{SERVER % senders}"}}
  - {{name: ping, at: 200ms, on: s1, run: "{PING % ("r", "r")}"}}
{clients}""")
    out = os.path.join(folder, "out")
    subprocess.run([program, "run", path, "--out", out, "--force", "--quiet"], stdout=subprocess.DEVNULL)
    read = lambda name: open(os.path.join(out, "programs", name + ".out")).read()
    return read("ping"), [read(f"client{i}") for i in range(1, senders + 1)]


def shaped(mininet, rate, senders):
    """Joins namespaces by veth pairs, a bridge and tc htb, and returns the outputs of ping and of the clients."""
    own = f"fabemu-htb-{os.getpid()}-"
    spaces = [own + "b", own + "r"] + [f"{own}s{i}" for i in range(1, senders + 1)]
    try:
        for n in spaces:
            shell(f"ip netns add {n}")
        bridge = spaces[0]
        shell(f"ip -n {bridge} link add name br0 type bridge && ip -n {bridge} link set br0 up")
        for i, n in enumerate(spaces[1:]):
            shell(f"ip -n {n} link add e type veth peer name e{i} netns {bridge}")
            shell(f"ip -n {n} addr add 10.0.0.{i + 1}/24 dev e && ip -n {n} link set e up")
            shell(f"ip -n {bridge} link set e{i} master br0 && ip -n {bridge} link set e{i} up")
            shell(f"ip netns exec {n} sysctl -q net.ipv4.tcp_congestion_control=reno")
            burst = "burst 15k" if mininet else ""
            ends = [(n, "e"), (bridge, f"e{i}")]
            for space, device in ends if mininet or i == 0 else ends[:1]:
                shell(f"tc -n {space} qdisc add dev {device} root handle 5: htb default 1 && "
                      f"tc -n {space} class add dev {device} parent 5: classid 5:1 htb rate {rate}bit {burst}")
        within = lambda n, command: subprocess.Popen(["ip", "netns", "exec", n, "sh", "-c", command], text=True, stdout=subprocess.PIPE)
        server = within(spaces[1], SERVER % senders)
        time.sleep(0.3)
        ping = within(spaces[2], PING % ("10.0.0.1", "10.0.0.1")).communicate()[0]
        clients = [within(n, CLIENT % ("10.0.0.1", i + 1, SECONDS)) for i, n in enumerate(spaces[2:])]
        outputs = [c.communicate()[0] for c in clients]
        server.wait()
        return ping, outputs
    finally:
        for n in spaces:
            subprocess.run(["ip", "netns", "delete", n], stderr=subprocess.DEVNULL)


def busy(line):
    """The processor time of a line of /proc/stat, in seconds: all but idle, iowait and steal."""
    user, nice, system, _, _, irq, softirq = map(int, line.split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def figures(ping, clients):
    """The figures of a run."""
    close, far = (sorted(float(t) for t in re.findall(r"time=([\d.]+) ms", text)) for text in ping.split("PING ")[1:])
    ends, cost = [], 0
    for i, text in enumerate(clients):
        before, rest = text.split("\n", 1)
        body, after = rest.rstrip().rsplit("\n", 1)
        ends.append(json.loads(body)["end"])
        if i == 0:
            cost = busy(after) - busy(before)
    received = sum(e["sum_received"]["bytes"] for e in ends)
    return {
        "rate": sum(e["sum_received"]["bits_per_second"] for e in ends) / 1e6,
        "again": sum(e["sum_sent"]["retransmits"] for e in ends),
        "cost": 1e6 * cost / (received / PACKET),
        "median": close[len(close) // 2],
        "p99": close[len(close) * 99 // 100],
        "far": far[len(far) // 2],
    }


def table(have, rounds):
    """The table of all figures: a row for each case and system."""
    def span(got, name, form):
        low, high = (form % f(got[name]) for f in (min, max))
        return low if low == high else f"{low}–{high}"

    rows = ["| links | connected by | received (Mb/s) | retransmits | CPU (µs/packet) | ping (ms) every 2 ms: p50 | p99 | every 10 ms: p50 |",
            "|---|---|---:|---:|---:|---:|---:|---:|"]
    for rate, senders in CASES:
        for way, title in WAYS.items():
            got = have[(rate, senders), way]
            trips = [span(got, name, "%.2f") if senders == 1 else "" for name in ("median", "p99", "far")]
            cells = [rate.replace("M", " Mb/s").replace("G", " Gb/s") + (f", {senders} to 1" if senders > 1 else ""), title,
                     span(got, "rate", "%.0f"), span(got, "again", "%d"), span(got, "cost", "%.1f"), *trips]
            rows.append("| " + " | ".join(cells) + " |")
    kernel, load = os.uname().release.split("-")[0], open("/proc/loadavg").read().split()[0]
    rows += ["", f"{rounds} rounds, lowest and highest; {os.cpu_count()} processors, load {load} at the end, kernel {kernel}."]
    return "\n".join(rows)


CASES = [("100M", 1), ("1G", 1), ("1G", 8)]
WAYS = {"fabemu": "fabemu", "htb": "`tc htb`", "mininet": "Mininet"}


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    rest = [a for a in arguments if a != "--update"]
    if len(rest) > 1 or rest and not re.fullmatch("[1-9][0-9]*", rest[0]):
        sys.exit(__doc__)
    rounds = int(rest[0]) if rest else 5
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    have = {}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "fabemu")
        subprocess.run(["go", "build", "-o", program, "./cmd/fabemu"], check=True)
        for n in range(rounds):
            for case in CASES:
                for way in WAYS:
                    outputs = fabemu(program, folder, *case) if way == "fabemu" else shaped(way == "mininet", *case)
                    got = figures(*outputs)
                    for name, value in got.items():
                        have.setdefault((case, way), {}).setdefault(name, []).append(value)
                    print(f"round {n + 1} of {rounds}, {case[0]}b/s, {case[1]} senders, {way}:",
                          ", ".join(f"{k} {v:.2f}" for k, v in got.items()), file=sys.stderr)
    text = table(have, rounds)
    print(text)
    if update:
        old = open(DOC).read()
        mark = re.compile(r"(<!-- measured -->\n).*?(\n<!-- end of measured -->)", re.S)
        assert mark.search(old), DOC + " has no place for it"
        open(DOC, "w").write(mark.sub(lambda m: m[1] + text + m[2], old))


if __name__ == "__main__":
    main()
