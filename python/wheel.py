#!/usr/bin/env python3
"""Makes the wheel of the package: with a binary for one system, or without one.

    python3 wheel.py VERSION OS/ARCH BINARY FOLDER [LEVEL]

VERSION and OS/ARCH come from scripts/release.sh, such as 0.1.0 and linux/amd64; LEVEL is the
compression, from 1 (quick) to 9 (the default). The path of the wheel is printed.
The same arguments make the same bytes: the entries have an order, and the time of SOURCE_DATE_EPOCH, or of 1980.

For pip it is also the build backend of the folder: pip install ./python makes a wheel without a binary. It needs the
standard library of Python 3.11.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path
from typing import Optional

HERE = Path(__file__).resolve().parent

# The tags of the systems. A static binary of Go needs a kernel alone, and on macOS version 12.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}

LEVELS = [[], *([str(n)] for n in range(1, 10))]


def number(version: str) -> str:
    """Return a version as wheels have it (PEP 440): v0.1.0 is 0.1.0, and a version without a number is 0+version."""
    version = version.removeprefix("v")
    if re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?", version):
        return version
    return "0+" + (re.sub(r"[^a-z0-9]+", ".", version.lower()).strip(".") or "devel")


def make(version: str, platform: Optional[str], binary: Optional[Path], folder: Path, level: int = 9) -> Path:
    """Write a wheel into a folder and return its path. Without a binary it is for all platforms."""
    import tomllib  # of Python 3.11

    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tags = [f"py3-none-{p}" for p in (platform or "any").split(".")]
    base = f"{project['name']}-{number(version)}"
    info = f"{base}.dist-info"
    files = {f"fabemu/{p.name}": p.read_bytes() for p in (HERE / "fabemu").iterdir() if p.is_file()}
    files["fabemu/version.py"] = files["fabemu/version.py"].replace(b'"devel"', f'"{version}"'.encode())
    if binary is not None:
        name = "fabemu.exe" if (platform or "").startswith("win") else "fabemu"
        files[f"{base}.data/scripts/{name}"] = binary.read_bytes()
    for legal in ("LICENSE", "NOTICE", "cmd/fabemu/licenses.txt"):
        if (HERE.parent / legal).exists():
            files[f"{info}/licenses/{Path(legal).name}"] = (HERE.parent / legal).read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {number(version)}\n"
        f"Summary: {project['description']}\nLicense: {project['license']['text']}\n"
        f"Requires-Python: {project['requires-python']}\n"
    ).encode()
    pure = "true" if binary is None else "false"
    wheel = f"Wheel-Version: 1.0\nGenerator: fabemu\nRoot-Is-Purelib: {pure}\n" + "".join(f"Tag: {t}\n" for t in tags)
    files[f"{info}/WHEEL"] = wheel.encode()
    rows = [f"{name},sha256={_sum(data)},{len(data)}\n" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()

    path = folder / f"{base}-py3-none-{platform or 'any'}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in sorted(files.items(), key=lambda f: (f[0].startswith(info), f[0])):
            entry = zipfile.ZipInfo(name, _when())
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if ".data/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, data)
    return path


def _sum(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _when() -> tuple[int, int, int, int, int, int]:
    """Return the time of all entries; a zip begins in 1980."""
    at = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))
    return at.tm_year, at.tm_mon, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Make a wheel without a binary, for pip (PEP 517)."""
    version = HERE.parent / "cmd" / "fabemu" / "version.txt"
    text = version.read_text(encoding="utf-8").strip() if version.exists() else "devel"
    return make(text, None, None, Path(wheel_directory)).name


def main(args: list[str]) -> int:
    if len(args) < 4 or args[1] not in PLATFORMS or args[4:] not in LEVELS:
        systems = ", ".join(PLATFORMS)
        print(f"usage: wheel.py VERSION OS/ARCH BINARY FOLDER [LEVEL]; OS/ARCH is one of {systems}", file=sys.stderr)
        return 2
    version, target, binary, folder = args[:4]
    try:
        print(make(version, PLATFORMS[target], Path(binary), Path(folder), *map(int, args[4:])))
    except (OSError, ImportError) as e:
        print(f"wheel.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
