"""Writes a strict JSON schema of each kind of Kubernetes from its OpenAPI document: schemas.py swagger.json DIRECTORY."""

import json
import sys

source, directory = sys.argv[1:]
definitions = json.load(open(source))["definitions"]


def strict(schema):
    """Forbids unknown members, and lets quantities and ports be numbers, as the API does."""
    if schema.get("properties") and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    if schema.get("format") == "int-or-string":
        del schema["type"]
        schema["type"] = ["integer", "string"]
    for inner in schema.get("properties", {}).values():
        strict(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            strict(schema[key])


for name, definition in definitions.items():
    strict(definition)
    if name.endswith("api.resource.Quantity"):
        definition["type"] = ["string", "number"]


def refs(value):
    """Returns the names of the definitions that a value refers to."""
    if isinstance(value, dict):
        found = {value["$ref"].rsplit("/", 1)[1]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*map(refs, value.values()))
    if isinstance(value, list):
        return set().union(*map(refs, value))
    return set()


for name, definition in definitions.items():
    for kind in definition.get("x-kubernetes-group-version-kind", []):
        wanted, queue = {}, [name]
        while queue:
            one = queue.pop()
            if one not in wanted:
                wanted[one] = definitions[one]
                queue.extend(refs(definitions[one]))
        group = kind["group"].split(".")[0]
        suffix = "-".join(filter(None, [group, kind["version"]]))
        schema = dict(definition, definitions=wanted)
        json.dump(schema, open(f"{directory}/{kind['kind'].lower()}-{suffix}.json", "w"))
