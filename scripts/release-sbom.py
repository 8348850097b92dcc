#!/usr/bin/env python3
"""Prints the list of all parts of the binaries of a release (SBOM), as JSON of CycloneDX 1.5.

    release-sbom.py VERSION LICENSES OS/ARCH=BINARY...

The modules are those that the binaries name themselves (go version -m), their licenses are the texts that
fabemu licenses prints. The same binaries make the same bytes: the time is SOURCE_DATE_EPOCH.
"""

import json
import os
import re
import subprocess
import sys
import time
import uuid

# The SPDX identifiers of licenses, by words in their texts.
LICENSES = [
    ("Apache-2.0", "Apache License"),
    ("OFL-1.1", "SIL OPEN FONT LICENSE"),
    ("FTL", "The FreeType Project LICENSE"),
    ("CC-BY-4.0", "Creative Commons Attribution 4.0"),
    ("CC0-1.0", "CC0 1.0 Universal"),
    ("MIT", "Permission is hereby granted, free of charge"),
    ("ISC", "Permission to use, copy, modify, and/or distribute"),
    ("BSD-3-Clause", "Neither the name"),
    ("BSD-2-Clause", "Redistribution and use in source"),
]


def licenses(path):
    """Return the identifiers of licenses by module, and the modules that are in no go.mod."""
    found, others = {}, []
    with open(path, encoding="utf-8") as f:
        for part in f.read().split("=" * 80 + "\n")[1:]:
            names, _, text = part.partition("\n\n")
            words = " ".join(text.split())
            ids = [i for i, sign in LICENSES if sign in words]
            for one, contained in [("BSD-3-Clause", "BSD-2-Clause"), ("OFL-1.1", "MIT")]:
                if one in ids and contained in ids:
                    ids.remove(contained)
            for line in names.splitlines():
                name, _, home = line.partition(", ")
                found.setdefault(name, set()).update(ids)
                if home and name != "Go":
                    others.append((name, home))
    return found, others


def modules(binary):
    """Return the version of Go, and path, version and sum of each module in a binary."""
    text = subprocess.run(["go", "version", "-m", binary], check=True, capture_output=True, text=True).stdout
    go = re.search(r": go(\S+)", text)
    all = re.findall(r"^\t(?:dep|=>)\t(\S+)\t(\S+)(?:\t(\S+))?", text, re.M)
    if not go or not all:
        sys.exit(f"release-sbom.py: {binary} names no modules")
    return go.group(1), all


def main(version, path, targets):
    known, others = licenses(path)
    parts = {}  # purl -> component, its targets

    def add(target, name, number, purl, **more):
        key = "Go" if name == "std" else name
        component = {"type": "library", "bom-ref": purl, "name": name, "purl": purl, **more}
        if number:
            component["version"] = number
        component["licenses"] = [{"license": {"id": i}} for i in sorted(known.get(key, ()))]
        parts.setdefault(purl, (component, []))[1].append(target)

    for target, _, binary in (t.partition("=") for t in targets):
        go, all = modules(binary)
        add(target, "std", go, f"pkg:golang/std@{go}", description="the standard library of Go")
        for name, number, checksum in all:
            add(target, name, number, f"pkg:golang/{name}@{number}", properties=[{"name": "go.sum", "value": checksum}])
        for name, home in others:
            add(target, name, "", "pkg:generic/" + name.lower(), externalReferences=[{"type": "website", "url": home}])
    components = []
    for _, (component, where) in sorted(parts.items()):
        if len(where) < len(targets):
            component.setdefault("properties", []).append({"name": "binaries", "value": " ".join(where)})
        components.append(component)
    main = {"type": "application", "bom-ref": "fabemu", "name": "fabemu", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    bom = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([main, components]))),
        "metadata": {"timestamp": when, "component": main},
        "components": components,
        "dependencies": [{"ref": "fabemu", "dependsOn": [c["bom-ref"] for c in components]}],
    }
    print(json.dumps(bom, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: release-sbom.py VERSION LICENSES OS/ARCH=BINARY...")
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
