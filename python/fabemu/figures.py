"""The objects of a result that have figures, made from the table of figures by
go test ./emu/result/report -run TestPythonTypes -update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Optional, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read(kind: Callable[..., T], data: Mapping[str, Any]) -> T:
    """Return an object of this kind that result.json has so."""
    return kind(*[value(data.get(key)) for key, value in _fields(kind)])


@cache
def _fields(kind: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the key of each field in result.json, and what reads it. Python keeps the word from."""
    return [("from" if name == "source" else name, _reader(of)) for name, of in get_type_hints(kind).items()]


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads a value of this kind from what result.json has; None: it leaves the value out."""
    outer, inner = get_origin(kind), get_args(kind)
    if outer is Mapping:  # of parts: each has a name and a number
        return lambda data: dict(x.values() for x in data) if isinstance(data, list) else data or {}
    if outer is None:
        known = hasattr(kind, "_fields")
        return lambda data: read(kind, data or {}) if known else kind() if data is None else data
    value = _reader(inner[0])
    if outer is Union:
        return lambda data: None if data is None else value(data)
    return lambda data: tuple(value(x) for x in data or [])


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
    out_of_order: packets that came ahead of their turn, where the receiver accepts them (packets)
    out_of_order_distance: the farthest that one of them was ahead of the oldest missing packet (packets)
    reorder_buffer_s: mean time of those packets in the reorder buffer; 0 with direct placement (seconds)
    reorder_buffer_max_s: longest of these times (seconds)
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
    out_of_order: int
    out_of_order_distance: int
    reorder_buffer_s: Optional[float]
    reorder_buffer_max_s: Optional[float]
    figures: Mapping[str, Optional[float]]


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


class Spread(NamedTuple):
    """The mean of many values, percentiles and the greatest; None where the values do not support it."""

    mean: Optional[float]
    p50: Optional[float]
    p95: Optional[float]
    p99: Optional[float]
    p999: Optional[float]
    max: Optional[float]


class SizeBand(NamedTuple):
    """The slowdown of flows of neighbouring sizes, in bytes."""

    transfers: int
    source: int
    to: int
    p50: Optional[float]
    p95: Optional[float]
    p99: Optional[float]


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


class Workload(NamedTuple):
    """The figures of a workload.

    transfers: flows that have ended, whole or not; those that arrived in the warm-up do not count (flows)
    open: flows that have a source and have not ended; those that arrived in the warm-up do not count (flows)
    waiting: flows that wait for a source (flows)
    bytes: payload of the flows that have ended (bytes)
    lost: of them, flows that ended with packets missing (flows)
    drops: workloads: their frames discarded on the path (frames)
    retransmissions: workloads: segments or packets that were retransmitted (packets)
    completion_s: flow completion time (FCT), from arrival at the source to delivery of the last byte: ``mean``, ``max``, percentiles such as ``p99`` (``p999``: 99.9 %); of a workload also by size, such as ``completion.p99.small``: ``small`` up to 100KB, ``large`` above 10MB, ``medium`` between (seconds)
    slowdown: workloads: the same for FCT over the ideal FCT, in an empty fabric without a window (1 or more)
    slowdown_at_least: slowdown with the flows that are open at the end of the run, as if they had ended then; where there are some, and they do not wait for each other (1 or more)
    out_of_order: workloads: packets that came ahead of their turn, where the receiver accepts them (packets)
    out_of_order_distance: workloads: the farthest that one of them was ahead of the oldest missing packet (packets)
    reorder_buffer_s: workloads: mean time of those packets in the reorder buffer; 0 with direct placement (seconds)
    reorder_buffer_max_s: workloads: longest of these times (seconds)
    """

    name: str
    pattern: str
    endpoints: int
    transfers: int
    open: int
    waiting: int
    bytes: int
    lost: int
    drops: int
    retransmissions: int
    from_ps: int
    completion_s: Spread
    slowdown: Spread
    slowdown_at_least: Optional[Spread]
    sizes: tuple[SizeBand, ...]
    out_of_order: int
    out_of_order_distance: int
    reorder_buffer_s: Optional[float]
    reorder_buffer_max_s: Optional[float]
    collective: Optional[Collective]
    figures: Mapping[str, Optional[float]]


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


#: The figures that have parts, such as causes.
PARTS = ("marks", "stalled", "stragglers", "triggers")
