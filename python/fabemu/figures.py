"""The objects of a result that have figures, made from the table of figures by
go test ./emu/result/report -run TestPythonTypes -update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional


class Flow(NamedTuple):
    """The totals of a flow."""

    name: str
    group: str
    source: str
    to: str
    bytes: int  #: data received whole, headers included (bytes)
    frames: int  #: data frames received whole (frames)
    marked: int  #: data frames received marked (frames)
    rate: Optional[float]  #: data received over the time in which the source had something to send (bytes per second)
    limit: Optional[float]  #: rate of the rate limiter of the source (bytes per second)
    active_ps: tuple[tuple[int, int], ...]
    qp: int
    acks: int  #: ACKs that the source took in (frames)
    marked_acks: int  #: ACKs that the source took in and that carry a mark back (frames)
    stalled: Mapping[str, int]  #: time in which the source was kept from sending, by the cause (picoseconds)
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
            stalled={x["cause"]: x["time_ps"] for x in data["stalled"]},
            figures=data.get("figures", {}),
        )


class Link(NamedTuple):
    """The totals of one direction of a link."""

    name: str
    source: str
    to: str
    capacity: Optional[float]  #: capacity of the link at the start of the run (bytes per second)
    bytes: int  #: data on the link, headers included, ACKs and flow control not (bytes)
    frames: int  #: data frames on the link (frames)
    acks: int  #: ACK frames on the link (frames)
    flow_control: int  #: flow control frames on the link (frames)
    utilisation: Optional[float]  #: data on the link over its capacity (0 to 1)
    marked: int  #: data frames marked when leaving by this link (frames)
    marks: Mapping[str, int]  #: data frames marked when leaving by this link, by the reason (frames)
    triggers: Mapping[str, int]  #: how often congestion was detected on behalf of this link, by the reason (times)
    stalled: Mapping[str, int]  #: time in which waiting frames were stopped, by the cause (picoseconds)
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
            marks={x["reason"]: x["count"] for x in data["marks"]},
            triggers={x["reason"]: x["count"] for x in data["triggers"]},
            stalled={x["cause"]: x["time_ps"] for x in data["stalled"]},
            figures=data.get("figures", {}),
        )
