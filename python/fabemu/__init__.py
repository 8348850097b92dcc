"""Build, check, run and measure lossless fabrics with the program fabemu.

    from fabemu import Fabric

    fabric = Fabric("two").defaults("link", rate="10Gb/s").switch("A").endpoints("h", 2).flow("h1", "h2")
    result = fabric.run()
    print(result.verdict.level, result.flow("h1").bytes)

Times are whole picoseconds of model time where a name ends in ``_ps``, and rates are bytes per second, as in the files
of a run. Each call starts the program (:class:`Program`); nothing is kept between calls.
"""

import sys

if sys.version_info < (3, 9):  # before the imports, which an older interpreter refuses in other words
    raise ImportError(
        "fabemu needs Python 3.9 or later, and %s is Python %d.%d" % ((sys.executable,) + sys.version_info[:2])
    )

from .bench import Limiter, ReactionPoint, bench, serve
from .control import Control
from .errors import CallError, FabemuError, FabemuWarning, Mistake, ProgramError, RunError, ScenarioError
from .figures import Adapter, Buffer, Collective, Flow, Guest, Link, SizeBand, Spread, Workload
from .program import Program
from .result import Check, Event, Frame, Point, Result, Transfer, Verdict, frames
from .running import Progress, Running
from .scenario import Checked, Fabric, Scenario
from .sweep import Sweep
from .version import __version__

__all__ = [
    "Adapter", "Buffer", "CallError", "Check", "Checked", "Collective", "Control", "Event", "FabemuError",
    "FabemuWarning", "Fabric", "Flow", "Frame", "Guest", "Limiter", "Link", "Mistake", "Point", "Program",
    "ProgramError", "Progress", "ReactionPoint", "Result", "RunError", "Running", "Scenario", "ScenarioError",
    "SizeBand", "Spread", "Sweep", "Transfer", "Verdict", "Workload", "__version__", "bench", "frames", "serve",
]  # fmt: skip
