"""Gives the settings of the rendered manifests to consign config, and compares them with network policy, volume and memory:
settings.py rendered.yaml CONSIGN."""

import base64
import re
import subprocess
import sys

import yaml

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

objects = {o["kind"]: o for o in yaml.safe_load_all(open(rendered)) if o["kind"] != "Ingress"}
policy = objects["NetworkPolicy"]["spec"]
open_ports = {p["port"] for rule in policy["egress"] for p in rule["ports"]}
# The ports of every service that a setting can name, as docs/use/configuration.md and operations.md write them.
services = {"Postgres": 5432, "PgBouncer": 6432, "bucket": 443, "MinIO": 9000, "Redis": 6379, "SMTP": 25, "SMTP with STARTTLS": 587, "SMTP over TLS": 465,
            "clamd": 3310, "ICAP": 1344, "time stamps": 80, "witnesses, webhooks, identity providers": 443, "syslog": 6514}
for service, port in services.items():
    assert port in open_ports, f"the network policy closes port {port} of {service}"
dns = [t["podSelector"]["matchLabels"] for rule in policy["egress"] for t in rule["to"] if "podSelector" in t]
assert dns == [{"k8s-app": "kube-dns"}], f"the network policy lets pods ask {dns}, which is no DNS"


def size(text):
    number, unit = re.fullmatch(r"(\d+)(\w*)", str(text)).groups()
    return int(number) << {"": 0, "Mi": 20, "MiB": 20, "Gi": 30}[unit]


pod = objects["Deployment"]["spec"]["template"]["spec"]
container = pod["containers"][0]
uploads = int(re.search(r"^CONSIGN_UPLOADS=(\d+)", done.stdout, re.M)[1])
parts = uploads * size("5Mi")  # the least part of a bucket (internal/blob/s3)
requests, limits = container["resources"]["requests"], container["resources"]["limits"]
assert parts <= size(requests["ephemeral-storage"]) <= size(pod["volumes"][0]["emptyDir"]["sizeLimit"]), "the spool does not hold a part of each upload"
floor = re.search(r"^CONSIGN_STORAGE_FLOOR=(\d+)%$", done.stdout, re.M)
assert floor and int(floor[1]) > 10, "kubelet evicts pods at 10 % of free disk, before CONSIGN_STORAGE_FLOOR refuses uploads"
heap = size(next(e["value"] for e in container["env"] if e["name"] == "GOMEMLIMIT"))
assert size(requests["memory"]) < heap < size(limits["memory"]), "GOMEMLIMIT must be between request and limit"
print("ok: the network policy opens the ports of all services, the floor is above kubelet's, and memory has a limit before the kernel's")
