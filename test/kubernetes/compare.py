"""Compares the objects of the Helm chart with those of kustomize: compare.py CHART.yaml KUSTOMIZED.yaml. What differs must be named here."""

import re
import sys

import yaml


def objects(name):
    found = {}
    for o in yaml.safe_load_all(open(name)):
        if not o or o["kind"] == "Namespace":  # helm install --create-namespace makes it
            continue
        o["metadata"].pop("namespace", None)
        plain(o)
        found[o["kind"], o["metadata"]["name"]] = o
    return found


def plain(value):
    """Removes what only one of the tools adds: hashes in names, and the chart's checksum of the settings."""
    if isinstance(value, dict):
        value.pop("checksum/settings", None)
        for key, inner in list(value.items()):
            if key == "name" and isinstance(inner, str):
                value[key] = re.sub(r"^(consign(?:-migrate)?)-(?:[0-9a-z]{10}|1)$", r"\1", inner)
            if isinstance(inner, str) and key.isupper():
                value[key] = "".join(inner.split())  # long base64 is folded by kustomize
            plain(inner)
    elif isinstance(value, list):
        for inner in value:
            plain(inner)


def differences(path, a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from differences(f"{path}.{key}", a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(f"{path}[{i}]", x, y)
    elif a != b:
        yield f"{path}: {a!r} in the chart, {b!r} in the manifests"


chart, manifests = (objects(name) for name in sys.argv[1:])
wrong = list(differences("", {"/".join(k): o for k, o in chart.items()}, {"/".join(k): o for k, o in manifests.items()}))
print("\n".join(wrong) or f"ok: the chart has the {len(chart)} objects of the manifests")
sys.exit(bool(wrong))
