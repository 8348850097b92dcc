#!/usr/bin/env python3
"""Makes an image for containers: the program, its licenses, examples and scenarios, and no other file.

    release-image.py VERSION ARCH BINARY COMMON LEVEL IMAGE

The image is an archive in the layout of the OCI, with the manifest of docker save next to it, so that podman load and
docker load take it. Its commands are those of fabemu; they read and write /work. The same files make the same bytes:
times are SOURCE_DATE_EPOCH.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def entry(name, size=None, mode=0o644):
    """Return the head of a file, or of a directory if it has no size."""
    info = tarfile.TarInfo(name)
    info.mtime, info.mode, info.uname, info.gname = EPOCH, mode, "root", "root"
    info.type, info.size = (tarfile.DIRTYPE, 0) if size is None else (tarfile.REGTYPE, size)
    return info


def archive(entries):
    """Return a tar file of heads and contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def root(binary, common):
    """Return the files of the image."""
    docs = "usr/share/doc/fabemu"
    files = {"usr/bin/fabemu": (binary.read_bytes(), 0o755), f"{docs}/copyright": ((common / "copyright").read_bytes(), 0o644)}
    for path in sorted(p for folder in ("examples", "scenarios") for p in (common / folder).rglob("*") if p.is_file()):
        files[f"{docs}/{path.relative_to(common).as_posix()}"] = (path.read_bytes(), path.stat().st_mode & 0o777)
    folders = {"tmp": 0o1777, "work": 0o1777}
    for name in files:
        for parent in list(Path(name).parents)[:-1]:
            folders[parent.as_posix()] = 0o755
    heads = [(entry(name, mode=mode), b"") for name, mode in folders.items()]
    heads += [(entry(name, len(data), mode), data) for name, (data, mode) in files.items()]
    return archive(sorted(heads, key=lambda head: head[0].name))


def main(version, arch, binary, common, level, image):
    blobs = {}

    def blob(data, kind):
        """Keep a blob and return its descriptor."""
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def path(descriptor):
        return "blobs/sha256/" + descriptor["digest"].partition(":")[2]

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    layer = root(Path(binary), Path(common))
    packed = blob(gzip.compress(layer, int(level), mtime=0), "layer.v1.tar+gzip")
    config = blob({
        "created": created, "architecture": arch, "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/fabemu"], "WorkingDir": "/work", "Env": ["PATH=/usr/bin"],
            "Labels": {
                "org.opencontainers.image.title": "fabemu", "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "scripts/release.sh"}],
    }, "config.v1+json")
    manifest = blob({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [packed],
    }, "manifest.v1+json")
    name = f"fabemu:{version}"
    manifest["platform"] = {"architecture": arch, "os": "linux"}
    manifest["annotations"] = {"org.opencontainers.image.ref.name": name}
    files = dict(blobs)
    files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True).encode()
    files["manifest.json"] = json.dumps([{"Config": path(config), "RepoTags": [name], "Layers": [path(packed)]}]).encode()
    entries = [(entry(folder, mode=0o755), b"") for folder in ("blobs", "blobs/sha256")]
    entries += [(entry(name, len(data)), data) for name, data in sorted(files.items())]
    Path(image).write_bytes(archive(entries))


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit("usage: release-image.py VERSION ARCH BINARY COMMON LEVEL IMAGE")
    main(*sys.argv[1:])
