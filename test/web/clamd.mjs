// A malware scanner for tests: node clamd.mjs PORT. It speaks VERSION and INSTREAM of clamd. The text of a file says what it finds:
// "worm" is malware, "sealed" an archive with a password, and "slow" is answered after 6 s.

import { createServer } from "node:net";

const findings = [["worm", "Test.Worm FOUND"], ["sealed", "Heuristics.Encrypted.Zip FOUND"]];

/** Returns the bytes of the chunks of INSTREAM, or nothing while the empty last one has not come. @param {Buffer} stream */
function content(stream) {
  const chunks = [];
  for (let at = 0; at + 4 <= stream.length;) {
    const size = stream.readUInt32BE(at);
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(stream.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return null;
}

createServer((socket) => {
  let got = Buffer.alloc(0), answered = false;
  socket.on("error", () => {});
  socket.on("data", (data) => {
    got = Buffer.concat([got, data]);
    const end = got.indexOf(0);
    if (end < 0 || answered) return;
    if (got.subarray(0, end).toString() === "zVERSION") {
      answered = true;
      socket.end("ClamAV 1.4.2/27500/Mon Nov 23 09:30:00 2026\0");
      return;
    }
    const file = content(got.subarray(end + 1));
    if (!file) return;
    answered = true;
    const found = findings.find(([text]) => file.includes(text));
    setTimeout(() => socket.end(`stream: ${found ? found[1] : "OK"}\0`), file.includes("slow") ? 6000 : 0);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
