"""Gives the settings of the rendered manifests to consign config: settings.py rendered.yaml CONSIGN."""

import base64
import re
import subprocess
import sys

rendered, consign = sys.argv[1:]
environment = {}
for document in open(rendered).read().split("\n---\n"):
    kind = re.search(r"^kind: (\w+)$", document, re.M)[1]
    if kind not in ("ConfigMap", "Secret"):
        continue
    data = re.search(r"^data:\n((?: .*\n)+)", document, re.M)[1]
    for name, value in re.findall(r"^  (\w+): ((?:.*\n)(?:    .*\n)*)", data, re.M):
        value = value.removeprefix("|").strip().strip('"')
        if kind == "Secret":
            value = base64.b64decode("".join(value.split())).decode()
        environment[name] = value
assert environment["CONSIGN_SECRET_KEY"].startswith("replace"), "the example has a secret key: nobody may use it"
environment["CONSIGN_SECRET_KEY"] = base64.b64encode(b"0" * 32).decode()
done = subprocess.run([consign, "config"], env=environment, capture_output=True, text=True)
sys.stderr.write(done.stderr)
assert done.returncode == 0
for name in environment:
    if name.startswith("CONSIGN_"):
        assert re.search(f"^{name}=.", done.stdout, re.M), f"{name} is no setting"
print(f"ok: consign accepts the {len(environment)} rendered settings")
