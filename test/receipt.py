#!/usr/bin/env python3
"""receipt.py KEYS RECEIPT [FILE…]: verifies receipts by docs/use/receipts.md alone, with openssl for Ed25519.

KEYS is a file with the keys of the log, one a line. RECEIPT may be a directory of receipts. Exit code 1: refused.
"""
import base64
import hashlib
import os
import subprocess
import sys
import tempfile


class Refused(Exception):
    pass


def check(condition, why):
    if not condition:
        raise Refused(why)


def sha(data):
    return hashlib.sha256(data).digest()


def strict64(text):
    raw = base64.b64decode(text, validate=True)
    check(base64.b64encode(raw).decode() == text, "base64 with a second spelling")
    return raw


def read_keys(path):
    keys = {}
    for line in open(path, encoding="utf-8"):
        name, key_hash, encoded = line.split()[0].split("+", 2)
        raw = base64.b64decode(encoded)
        check(raw[0] == 1 and len(raw) == 33, "not an Ed25519 key")
        check(sha(name.encode() + b"\n" + raw)[:4].hex() == key_hash, "wrong key hash")
        keys[(name, key_hash)] = raw[1:]
    return keys


def ed25519(public, message, signature):
    """openssl wants the key as SubjectPublicKeyInfo."""
    with tempfile.TemporaryDirectory() as d:
        def put(name, data):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
            return f.name
        key = put("key", bytes.fromhex("302a300506032b6570032100") + public)
        return subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin",
             "-in", put("message", message), "-sigfile", put("signature", signature)],
            capture_output=True, check=False).returncode == 0


def checkpoint(text, keys):
    body, signatures = text.rsplit("\n\n", 1)
    body += "\n"
    origin, size, root, end = body.split("\n")
    check(end == "" and str(int(size)) == size, "malformed checkpoint")
    check(signatures.endswith("\n"), "malformed signatures")
    good = 0
    for line in signatures[:-1].split("\n"):
        dash, name, encoded = line.split(" ")
        check(dash == "—", "malformed signature line")
        raw = strict64(encoded)
        public = keys.get((name, raw[:4].hex()))
        if public is None or name != origin:
            continue  # of another key, such as a witness
        check(ed25519(public, body.encode(), raw[4:]), "wrong signature")
        good += 1
    check(good > 0, "no known key has signed")
    return int(size), strict64(root)


def included(leaf, index, size, path, root):
    """RFC 9162, 2.1.3.2."""
    check(0 <= index < size, "the index is outside of the tree")
    fn, sn, r = index, size - 1, leaf
    for p in path:
        check(sn > 0, "the path is too long")
        if fn & 1 or fn == sn:
            r = sha(b"\x01" + p + r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = sha(b"\x01" + r + p)
        fn, sn = fn >> 1, sn >> 1
    check(sn == 0 and r == root, "not in the log")


def verify(file, keys):
    """Returns the lines of the statement."""
    statement, proof = file.decode("utf-8").split("\n\n", 1)
    statement += "\n"
    head, signed = proof.split("\n\n", 1)
    lines = head.split("\n")
    check(lines.pop(0) == "c2sp.org/tlog-proof@v1", "not a proof")
    if lines[0].startswith("extra "):
        strict64(lines.pop(0)[6:])
    name, index = lines.pop(0).split(" ")
    check(name == "index" and str(int(index)) == index, "malformed index")
    size, root = checkpoint(signed, keys)
    entry = sha(statement.encode())
    included(sha(b"\x00" + entry), int(index), size, [strict64(x) for x in lines], root)
    return statement.split("\n")


def main():
    keys, given = read_keys(sys.argv[1]), sys.argv[2]
    receipts = [os.path.join(given, n) for n in os.listdir(given)] if os.path.isdir(given) else [given]
    for path in receipts:
        try:
            with open(path, "rb") as f:
                lines = verify(f.read(), keys)
            objects = {tuple(x.split(" ")[1:3]) for x in lines if x.startswith("object ")}
            for name in sys.argv[3:]:
                with open(name, "rb") as f:
                    data = f.read()
                check((str(len(data)), sha(data).hex()) in objects, name + " is no file of the receipt")
        except (Refused, ValueError, KeyError) as why:
            sys.exit(f"{path}: REFUSED: {why}")
    print(f"{len(receipts)} accepted")


main()
