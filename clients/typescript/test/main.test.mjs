// The main job against a real server: CONSIGN_URL, CONSIGN_TOKEN (transfers:read) and CONSIGN_SEND_TOKEN (transfers:send) and
// CONSIGN_REQUEST_TOKEN (requests:manage) of the owner of the mailbox demo. make test-clients sets them.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { ChangedError, ConsignError, Upload, connect, download, must, objectsOf, openLink, reserve } from "../dist/index.js";
import { downloadTo, localFile } from "../dist/node.js";

const url = process.env.CONSIGN_URL;
const sum = (bytes) => createHash("sha256").update(bytes).digest("hex");
let dir;
before(async () => { dir = await mkdtemp(join(tmpdir(), "consign-ts-")); });
after(() => rm(dir, { recursive: true }));

/** A network that fails: two of five calls of the methods fail: one does not arrive, one loses its answer or its end. */
function shaky(...methods) {
  let calls = 0;
  const network = async (request) => {
    const fails = methods.includes(request.method) ? ++calls % 5 : 1;
    if (fails === 2) throw new TypeError("fetch failed");
    const answer = await fetch(request);
    if (fails === 0) {
      if (request.method !== "GET" || !answer.body) throw new TypeError("the answer is lost");
      const whole = new Uint8Array(await answer.arrayBuffer());
      const half = new ReadableStream({ start(c) { c.enqueue(whole.subarray(0,
        whole.length >> 1)); c.error(new TypeError("terminated")); } });
      return new Response(half, { status: answer.status, headers: answer.headers });
    }
    return answer;
  };
  network.calls = () => calls;
  return network;
}

test("a stranger sends to a mailbox through a network that fails, and the owner receives the same bytes", async () => {
  const network = shaky("PUT", "HEAD");
  const stranger = await connect(url, { fetch: network });
  const content = randomBytes(3_000_000);
  await writeFile(join(dir, "a.bin"), content);
  const upload = await reserve(stranger, { mailbox: "demo", senderName: "Sam", senderEmail: "sam@example.com", subject: "TypeScript" });
  await upload.attach([await localFile(join(dir, "a.bin"), "folder/a.bin"), { name: "b.txt", blob: new Blob(["hello"]) },
    { name: "empty", blob: new Blob([]) }]);
  const seen = [];
  await upload.send({ chunk: 200_000, onProgress: (file, held) => { if (file === 0) seen.push(held); } });
  assert.ok(network.calls() > 20 && seen.at(-1) === content.length);
  assert.deepEqual(upload.state.objects.map((o) => o.sha256), [sum(content), sum("hello"), sum("")]);
  const transfer = await upload.confirm();
  assert.equal((await upload.confirm()).uid, transfer.uid);

  const owner = await connect(url, { token: process.env.CONSIGN_TOKEN, fetch: shaky("GET") });
  const inbox = must(await owner.transfer.GET("/transfers", { params: { query: { location: ["received"], limit: 1 } } }));
  assert.equal(inbox.transfers[0].uid, transfer.uid);
  const objects = await objectsOf(owner, transfer.uid);
  const target = join(dir, "received");
  for (const o of objects) {
    await downloadTo(owner, o, target);
    assert.equal(sum(await readFile(target)), o.sha256);
  }
  assert.deepEqual(objects.map((o) => o.name).sort(), ["b.txt", "empty", "folder/a.bin"]);
  const parts = [];
  for await (const bytes of download(owner, { ...objects[0] })) parts.push(bytes);
  assert.equal(sum(Buffer.concat(parts)), objects[0].sha256);
  await assert.rejects(async () => { for await (const _ of download(owner,
    { ...objects.find((o) => o.size > 0), sha256: sum("other") })); }, { name: "DigestError" });
});

test("an upload continues in another process, unless the file has changed", async () => {
  const consign = await connect(url);
  const content = randomBytes(900_000);
  const upload = await reserve(consign, { mailbox: "demo", senderName: "Sam", senderEmail: "sam@example.com" });
  await upload.attach([{ name: "c.bin", blob: new Blob([content]) }]);
  let stored;
  const stop = new AbortController();
  const slow = await connect(url, { signal: stop.signal });
  await assert.rejects(Upload.resume(slow, upload.state, [{ name: "c.bin", blob: new Blob([content]) }]).send({
    chunk: 100_000, onProgress: (_, held) => { if (held >= 300_000) { stored = JSON.stringify(upload.state); stop.abort(); } },
  }));
  const state = JSON.parse(stored);
  const other = Buffer.from(content);
  other[5] ^= 1;
  assert.throws(() => Upload.resume(consign, state, [{ name: "c.bin", blob: new Blob(["x"]) }]), ChangedError);
  await assert.rejects(Upload.resume(consign, state, [{ name: "c.bin", blob: new Blob([other]) }]).send({ chunk: 100_000 }), ChangedError);
  const again = Upload.resume(consign, state, [{ name: "c.bin", blob: new Blob([content]) }]);
  await again.send({ chunk: 100_000 });
  assert.ok((await again.confirm()).uid);
});

test("a reservation whose answer is lost is made once", async () => {
  const made = [];
  const forgetful = async (request) => {
    const answer = await fetch(request);
    if (request.method !== "POST") return answer;
    made.push(answer.headers.get("Location"));
    if (made.length === 1) throw new TypeError("the answer is lost");
    return answer;
  };
  await (await reserve(await connect(url, { fetch: forgetful }),
    { mailbox: "demo", senderName: "Sam", senderEmail: "sam@example.com" })).cancel();
  assert.equal(made.length, 2);
  assert.equal(made[0], made[1]);
});

test("a link with a password, and errors with their codes", async () => {
  const sender = await connect(url, { token: process.env.CONSIGN_SEND_TOKEN });
  const upload = await reserve(sender, { subject: "Link", password: "vermilion-42" });
  await upload.attach([{ name: "d.txt", blob: new Blob(["for you"]) }]);
  await upload.send();
  const { link } = await upload.confirm();
  const key = new URL(link).pathname.split("/").at(-1);
  const stranger = await connect(url);
  await assert.rejects(openLink(stranger, key, "wrong"),
    (e) => e instanceof ConsignError && e.status === 401 && e.code > 401000 && e.requestId !== "");
  const [file] = await openLink(stranger, key, "vermilion-42");
  let text = "";
  for await (const bytes of download(stranger, file)) text += Buffer.from(bytes);
  assert.equal(text, "for you");
  await assert.rejects(stranger.transfer.GET("/transfers"), { name: "ConsignError", status: 401 });
  await assert.rejects(reserve(stranger, { mailbox: "nobody-here" }), { name: "ConsignError", status: 404 });
});

test("a program hands in for a person who was asked for documents, through a network that fails", async () => {
  const owner = await connect(url, { token: process.env.CONSIGN_REQUEST_TOKEN });
  const asked = { title: "Statement 2026", items: [{ name: "Lease" }, { name: "Letter" }], parties: [{ email: "bob@example.org" }] };
  const made = must(await owner.transfer.POST("/requests", { body: asked }));
  const bob = await connect(url, { fetch: shaky("PUT", "HEAD") });
  const upload = await reserve(bob, { request: new URL(made.parties[0].link).pathname.split("/").at(-1) });
  const [lease, letter] = made.items.map((item) => item.uid), content = randomBytes(700_000);
  const state = structuredClone(upload.state); // of a program that ends before it knows that its files are attached
  const sources = [{ name: "lease.pdf", blob: new Blob([content]), item: lease },
    { name: "letter.txt", blob: new Blob(["dear"]), item: letter }];
  await upload.attach(sources);
  const again = Upload.resume(bob, state, []);
  await again.attach(sources);
  await again.send({ chunk: 100_000 });
  const { uid } = await again.confirm();
  const seen = must(await owner.transfer.GET("/requests/{uid}", { params: { path: { uid: made.uid } } }));
  const files = seen.parties[0].items.map((i) => i.files.map((f) => [f.name, f.transfer]));
  assert.deepEqual(files, [[["lease.pdf", uid]], [["letter.txt", uid]]]);
});
