"""The objects of a result that have figures, made from the table of figures by
go test ./emu/result/report -run TestPythonTypes -update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional, TypeVar

T = TypeVar("T")


def _parts(data: Optional[list[dict[str, Any]]]) -> dict[str, int]:
    """Return the parts of a figure: each has a name and a number."""
    return {name: number for name, number in (part.values() for part in data or [])}


def _maybe(read: Callable[[Any], T], data: Any) -> Optional[T]:
    """Return an object, if it is there."""
    return None if data is None else read(data)


class Flow(NamedTuple):
    """The totals of a flow.

    bytes: data received whole, headers included (bytes)
    frames: data frames received whole (frames)
    marked: data frames received marked (frames)
    rate: data received over the time in which the source had something to send (bytes per second)
    limit: rate of the rate limiter of the source (bytes per second)
    acks: ACKs that the source took in (frames)
    marked_acks: ACKs that the source took in and that carry a mark back (frames)
    stalled: time in which the source was kept from sending, by the cause (picoseconds)
    """

    name: str
    group: str
    source: str
    to: str
    bytes: int
    frames: int
    marked: int
    rate: Optional[float]
    limit: Optional[float]
    active_ps: tuple[tuple[int, int], ...]
    qp: int
    acks: int
    marked_acks: int
    stalled: Mapping[str, int]
    figures: Mapping[str, Optional[float]]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Flow:
        """Return the object that result.json has so."""
        return Flow(
            name=data["name"],
            group=data["group"],
            source=data["from"],
            to=data["to"],
            bytes=data["bytes"],
            frames=data["frames"],
            marked=data["marked"],
            rate=data["rate"],
            limit=data["limit"],
            active_ps=tuple((a, b) for a, b in data["active_ps"]),
            qp=data["qp"],
            acks=data["acks"],
            marked_acks=data["marked_acks"],
            stalled=_parts(data["stalled"]),
            figures=data.get("figures", {}),
        )


class Link(NamedTuple):
    """The totals of one direction of a link.

    capacity: capacity of the link at the start of the run (bytes per second)
    bytes: data on the link, headers included, ACKs and flow control not (bytes)
    frames: data frames on the link (frames)
    acks: ACK frames on the link (frames)
    flow_control: flow control frames on the link (frames)
    utilisation: data on the link over its capacity (0 to 1)
    marked: data frames marked when leaving by this link (frames)
    marks: data frames marked when leaving by this link, by the reason (frames)
    triggers: how often congestion was detected on behalf of this link, by the reason (times)
    stalled: time in which waiting frames were stopped, by the cause (picoseconds)
    """

    name: str
    source: str
    to: str
    capacity: Optional[float]
    bytes: int
    frames: int
    acks: int
    flow_control: int
    utilisation: Optional[float]
    marked: int
    marks: Mapping[str, int]
    triggers: Mapping[str, int]
    stalled: Mapping[str, int]
    figures: Mapping[str, Optional[float]]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Link:
        """Return the object that result.json has so."""
        return Link(
            name=data["name"],
            source=data["from"],
            to=data["to"],
            capacity=data["capacity"],
            bytes=data["bytes"],
            frames=data["frames"],
            acks=data["acks"],
            flow_control=data["flow_control"],
            utilisation=data["utilisation"],
            marked=data["marked"],
            marks=_parts(data["marks"]),
            triggers=_parts(data["triggers"]),
            stalled=_parts(data["stalled"]),
            figures=data.get("figures", {}),
        )


class Buffer(NamedTuple):
    """How full a receive buffer of a switch was.

    mean_blocks: mean fill over the run, on InfiniBand (blocks of 64 bytes)
    max_blocks: maximum fill, on InfiniBand (blocks of 64 bytes)
    mean_bytes: mean fill over the run, on Ethernet (bytes)
    max_bytes: maximum fill, on Ethernet (bytes)
    """

    node: str
    port: int
    link: str
    mean_blocks: Optional[float]
    max_blocks: int
    mean_bytes: Optional[float]
    max_bytes: int
    figures: Mapping[str, Optional[float]]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Buffer:
        """Return the object that result.json has so."""
        return Buffer(
            node=data["node"],
            port=data["port"],
            link=data["link"],
            mean_blocks=data["mean_blocks"],
            max_blocks=data["max_blocks"],
            mean_bytes=data.get("mean_bytes", None),
            max_bytes=data.get("max_bytes", 0),
            figures=data.get("figures", {}),
        )


class Spread(NamedTuple):
    """The mean of many values, percentiles and the greatest; None where the values do not support it."""

    mean: Optional[float]
    p50: Optional[float]
    p95: Optional[float]
    p99: Optional[float]
    p999: Optional[float]
    max: Optional[float]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Spread:
        """Return the object that result.json has so."""
        return Spread(
            mean=data["mean"],
            p50=data["p50"],
            p95=data["p95"],
            p99=data["p99"],
            p999=data["p999"],
            max=data["max"],
        )


class SizeBand(NamedTuple):
    """The slowdown of flows of neighbouring sizes, in bytes."""

    transfers: int
    source: int
    to: int
    p50: Optional[float]
    p95: Optional[float]
    p99: Optional[float]

    @staticmethod
    def read(data: Mapping[str, Any]) -> SizeBand:
        """Return the object that result.json has so."""
        return SizeBand(
            transfers=data["transfers"],
            source=data["from"],
            to=data["to"],
            p50=data["p50"],
            p95=data["p95"],
            p99=data["p99"],
        )


class Collective(NamedTuple):
    """The figures of a collective operation.

    rounds: collectives: rounds that all ranks completed (rounds)
    round_s: collectives: duration of these, from the first rank's start to the last rank's end (seconds)
    least_s: a lower bound of it: the bytes that must follow one another on a link, without latencies (seconds)
    algbw: algorithm bandwidth as in nccl-tests: the size over the mean duration (bytes per second)
    busbw: collectives: bus bandwidth as in nccl-tests, the size over the mean duration times 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all) or 1 (broadcast) (bytes per second)
    stragglers: rounds that an endpoint ended last, the most frequent first (rounds)
    """

    operation: str
    algorithm: str
    bytes: int
    steps: int
    rounds: int
    round_s: Spread
    least_s: Optional[float]
    algbw: Optional[float]
    busbw: Optional[float]
    stragglers: Mapping[str, int]
    figures: Mapping[str, Optional[float]]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Collective:
        """Return the object that result.json has so."""
        return Collective(
            operation=data["operation"],
            algorithm=data["algorithm"],
            bytes=data["bytes"],
            steps=data["steps"],
            rounds=data["rounds"],
            round_s=Spread.read(data["round_s"]),
            least_s=data["least_s"],
            algbw=data["algbw"],
            busbw=data["busbw"],
            stragglers=_parts(data["stragglers"]),
            figures=data.get("figures", {}),
        )


class Workload(NamedTuple):
    """The figures of a workload.

    transfers: flows that have ended, whole or not; those that arrived in the warm-up do not count (flows)
    open: flows that have a source and have not ended; those that arrived in the warm-up do not count (flows)
    waiting: flows that wait for a source (flows)
    bytes: payload of the flows that have ended (bytes)
    lost: of them, flows that ended with packets missing (flows)
    completion_s: flow completion time (FCT), from arrival at the source to delivery of the last byte: ``mean``, ``max``, percentiles such as ``p99`` (``p999``: 99.9 %); of a workload also by size, such as ``completion.p99.small``: ``small`` up to 100KB, ``large`` above 10MB, ``medium`` between (seconds)
    slowdown: workloads: the same for FCT over the ideal FCT, in an empty fabric without a window (1 or more)
    slowdown_at_least: slowdown with the flows that are open at the end of the run, as if they had ended then; where there are some, and they do not wait for each other (1 or more)
    """

    name: str
    pattern: str
    endpoints: int
    transfers: int
    open: int
    waiting: int
    bytes: int
    lost: int
    from_ps: int
    completion_s: Spread
    slowdown: Spread
    slowdown_at_least: Optional[Spread]
    sizes: tuple[SizeBand, ...]
    collective: Optional[Collective]
    figures: Mapping[str, Optional[float]]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Workload:
        """Return the object that result.json has so."""
        return Workload(
            name=data["name"],
            pattern=data["pattern"],
            endpoints=data["endpoints"],
            transfers=data["transfers"],
            open=data["open"],
            waiting=data.get("waiting", 0),
            bytes=data["bytes"],
            lost=data["lost"],
            from_ps=data.get("from_ps", 0),
            completion_s=Spread.read(data["completion_s"]),
            slowdown=Spread.read(data["slowdown"]),
            slowdown_at_least=_maybe(Spread.read, data.get("slowdown_at_least", None)),
            sizes=tuple(SizeBand.read(x) for x in data["sizes"]),
            collective=_maybe(Collective.read, data.get("collective", None)),
            figures=data.get("figures", {}),
        )


class Adapter(NamedTuple):
    """What the RoCEv2 adapter of a guest has counted.

    np_cnp_sent: CNPs that the adapter of a guest has sent (CNPs)
    np_ecn_marked_roce_packets: marked packets of RoCEv2 that came (packets)
    rp_cnp_handled: CNPs that came for a queue pair with a reaction point (CNPs)
    rp_cnp_ignored: other CNPs that came to the adapter of a guest (CNPs)
    out_of_pairs: packets of queue pairs for which the adapter of a guest had no place (packets)
    tx_discards: packets of the guest, and CNPs, for which its adapter had no room (packets)
    queue_pairs: queue pairs that the guest sends to (queue pairs)
    rx_icrc_encapsulated: packets that came with a wrong ICRC, checksum or length (packets)
    rx_pause: PFC frames that came, by the priority (frames)
    """

    np_cnp_sent: int
    np_ecn_marked_roce_packets: int
    rp_cnp_handled: int
    rp_cnp_ignored: int
    out_of_pairs: int
    tx_discards: int
    queue_pairs: int
    rx_icrc_encapsulated: int
    rx_pause: Mapping[str, int]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Adapter:
        """Return the object that result.json has so."""
        return Adapter(
            np_cnp_sent=data["np_cnp_sent"],
            np_ecn_marked_roce_packets=data["np_ecn_marked_roce_packets"],
            rp_cnp_handled=data["rp_cnp_handled"],
            rp_cnp_ignored=data["rp_cnp_ignored"],
            out_of_pairs=data["out_of_pairs"],
            tx_discards=data["tx_discards"],
            queue_pairs=data["queue_pairs"],
            rx_icrc_encapsulated=data["rx_icrc_encapsulated"],
            rx_pause=data["rx_pause"],
        )


class Guest(NamedTuple):
    """What a guest has counted.

    sent: packets read from its device (packets)
    received: packets written to its device (packets)
    no_flow: packets sent without a flow to the destination; answered by ICMP, or dropped (packets)
    not_ip: packets sent that are neither IP nor Ethernet (packets)
    damaged: packets sent with a wrong checksum or length in the header of IP; of kind tun dropped (packets)
    too_long: packets sent that are longer than those of the flow (packets)
    spoofed: packets sent with a source that is not the guest's, where ``strict-source`` is given (packets)
    not_taken: packets that its kernel did not take (packets)
    kernel_drops: packets sent that its kernel dropped before they could be read (packets)
    lost_inside: packets that its kernel dropped on the path in (packets)
    """

    name: str
    place: str
    kind: str
    namespace: str
    address: str
    mtu: int
    roce: Optional[Adapter]
    sent: int
    received: int
    no_flow: int
    not_ip: int
    damaged: int
    too_long: int
    spoofed: int
    not_taken: int
    kernel_drops: int
    lost_inside: int

    @staticmethod
    def read(data: Mapping[str, Any]) -> Guest:
        """Return the object that result.json has so."""
        return Guest(
            name=data["name"],
            place=data.get("place", ""),
            kind=data["kind"],
            namespace=data.get("namespace", ""),
            address=data["address"],
            mtu=data["mtu"],
            roce=_maybe(Adapter.read, data.get("roce", None)),
            sent=data["sent"],
            received=data["received"],
            no_flow=data.get("no_flow", 0),
            not_ip=data.get("not_ip", 0),
            damaged=data.get("damaged", 0),
            too_long=data.get("too_long", 0),
            spoofed=data.get("spoofed", 0),
            not_taken=data.get("not_taken", 0),
            kernel_drops=data["kernel_drops"],
            lost_inside=data.get("lost_inside", 0),
        )


#: The figures that have parts, such as causes.
PARTS = ("marks", "stalled", "stragglers", "triggers")
