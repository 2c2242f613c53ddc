#!/usr/bin/env bash
# Uploads files with hostile names to a running server. Then unzip, Python's zipfile and curl -OJ extract them into an empty folder.
# No file may be written outside that folder. Names that the server forbids must be refused when the file is attached.
. "$(dirname "$0")/lib.sh"
cd "$root"
need unzip unzip
need python3 python3
need curl curl
[ -x bin/consign ] || make -s build

port=$(free_port)
start_server "$work/var" "$port" "$(free_port)" --demo
mkdir -p "$work/yard" && cd "$work/yard" # a path that escapes from yard/in is written here or higher up
email=$(sed -n 's/^email: *//p' "$work/var/demo.txt") password=$(sed -n 's/^password: *//p' "$work/var/demo.txt")

echo "Attaching files with hostile names"
python3 - "http://localhost:$port" "$email" "$password" >"$work/sent" <<'PYTHON'
import json, sys, urllib.error, urllib.request

base, email, password = sys.argv[1:]

def call(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json"} if isinstance(body, dict) else {}
    if token:
        headers["Authorization"] = "Bearer " + token
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(base + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"{}"), answer.headers
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read() or b"{}"), e.headers

login = call("POST", "/id/v3/auth/login", {"email": email, "type": "bcrypt", "key": password})[1]["token"]
access = call("POST", "/id/v3/auth/access", token=login)[1]["token"]
status, made, _ = call("POST", "/transfer/v2/reservations", {"subject": "names"}, access)
assert status == 201, made
path = "/transfer/v2/reservations/" + made["uid"]

accepted = [
    "plain.txt", "../up.txt", "../../../../tmp/consign-escaped", "..\\..\\up.txt", "/etc/consign-escaped", "//server/share/x", "\\\\server\\share\\y",
    "C:\\Windows\\evil.dll", "c:evil.bat", "C:", "C:..\\x", "a/../../b", "a/./b//c", ".", "..", "...", ".. ", " ", "a/.. /x", "~", "~/.ssh/authorized_keys",
    "-rf", "--help", "$(reboot)", "`id`", "a;b|c&d", "*", "?", "[a-z]", "%2e%2e%2fx", "%s%n", "'quoted'", '"double"', "<tag>", "a:b:c", "name.", "name ", "dup.txt", "dup.txt", "DUP.TXT",
    "dup (2).txt", "file", "file/below", "folder/x", "folder", "CON", "con.txt", "NUL", "aux.tar.gz", "COM1", "LPT9.txt", "CON/x", "COM\u00b9.txt", "é.txt", "e\u0301.txt",
    "\U0001F600" * 255, "\u00fc" * 300 + ".pdf", "x" * 1020 + ".bin", "日本語/ファイル.txt", "\u200bzero.txt", ".bashrc", ".git/config", "a\u00a0b", "\ufeffbom.txt", "a\u200fb", "\u200eb", "\u061cc", "lpt1", "PRN.",
]
refused = ["\u202egpj.exe", "a\u2066b", "a\rb", "a\nb", "a\r\nSet-Cookie: x=y", "a\u0000b", "a\u001bb", "a\u007fb", "a\u0085b", "a\u2028b", "", "x" * 1025, "x" * 100_000]
names = []
for i, name in enumerate(accepted):
    blank = not name.strip()
    content = f"content {i}".encode()
    status, answer, _ = call("POST", path + "/objects", {"clientId": f"o{i}", "name": name, "intendedSize": len(content)}, access)
    if blank and status == 400:
        continue  # the server may refuse a blank name
    assert status == 201, (name, status, answer)
    assert answer["name"] == name, (name, answer)
    status, answer, _ = call("PUT", path + f"/objects/o{i}/content", content, access)
    assert status == 200, (name, status, answer)
    names.append(name)
for i, name in enumerate(refused):
    status, answer, _ = call("POST", path + "/objects", {"clientId": f"r{i}", "name": name, "intendedSize": 1}, access)
    assert status == 400, (name[:40], status, answer)
status, done, _ = call("POST", path + "/confirm", token=access)
assert status == 200, done
print(access, done["uid"], len(names))
print("\n".join(o["uid"] for o in done["objects"]))
PYTHON
read -r access uid count <"$work/sent"
transfer="http://localhost:$port/transfer/v2/transfers/$uid"
curl -sS -f -H "Authorization: Bearer $access" -o "$work/all.zip" "$transfer/archive"

listing() { (cd "$work" && find yard ! -path 'yard/in/*' | sort) && ls -a "$(dirname "$work")" /etc /tmp | grep -c consign-escaped || true; }

# check NAME: fails unless in/ holds each uploaded file once, with its content, and no file was written elsewhere; empties in/
check() {
  local found
  found=$(find in -type f | wc -l)
  [ "$found" -eq "$count" ] || { find in -type f >&2; fail "$1 unpacked $found of $count files"; }
  [ "$(find in -type f -exec cat {} + | grep -oE 'content [0-9]+' | sort -u | wc -l)" -eq "$count" ] || fail "$1: a file was overwritten"
  [ -z "$(find in -type l -o -type p -o -type s -o -type b -o -type c)" ] || fail "$1 created something that is not a regular file"
  [ "$(listing)" = "$before" ] || { listing >&2; fail "$1 wrote outside the folder"; }
  echo "$1: $found files, all inside"
  rm -rf in
}

mkdir in
before=$(listing)
python3 - "$work/all.zip" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    for i in z.infolist():
        parts = i.filename.split("/")
        assert not i.filename.startswith("/") and "\\" not in i.filename and ".." not in parts and "" not in parts, i.filename
        assert all(len(p.encode()) <= 255 for p in parts), i.filename
    z.extractall("in")
PYTHON
check "Python's zipfile"

mkdir in
unzip -tqq "$work/all.zip" || fail "unzip -t finds the archive damaged"
LC_ALL=C.UTF-8 unzip -q "$work/all.zip" -d in || fail "unzip failed"
check unzip

# Downloads each file under the name in Content-Disposition. curl uses the ASCII form of the name, which several files share, so each
# file gets its own folder.
mkdir in
n=0
while read -r object; do
  n=$((n + 1))
  mkdir "in/$n"
  (cd "in/$n" && curl -sS -f -OJ -H "Authorization: Bearer $access" "$transfer/objects/$object/content") || fail "curl -OJ failed"
done < <(tail -n +2 "$work/sent")
check "curl -OJ"
