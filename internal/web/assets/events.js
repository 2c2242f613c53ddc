// The feed of the person who is signed in. It is read with fetch, because EventSource cannot send a token; what was missed
// during an interruption comes after it.

import { identity, own, signedIn } from "./api.js";

/**
 * Follows the feed until the page is left.
 * @param {(event: {kind: string, subject: string, createdAt: string}) => void} onEvent
 * @param {() => void} onBack called when the feed is there again; what came before its first event was missed
 */
export async function follow(onEvent, onBack) {
  let cursor = "";
  for (let attempt = 0, before = false; signedIn(); attempt++) {
    try {
      const { response } = await own("GET", `${identity}/events`, { accept: "text/event-stream", headers: cursor ? { "Last-Event-ID": cursor } : {} });
      if (before) onBack();
      [attempt, before] = [0, true];
      await read(response.body, (id, data) => {
        cursor = id || cursor;
        onEvent(JSON.parse(data));
      });
    } catch { /* tried again below */ }
    await new Promise((resolve) => setTimeout(resolve, Math.min(60, 2 ** attempt) * (500 + Math.random() * 500)));
  }
}

/** Takes a stream apart into events (WHATWG HTML, 9.2.6). @param {ReadableStream<Uint8Array>} stream @param {(id: string, data: string) => void} onEvent */
async function read(stream, onEvent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", id = "", data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length) onEvent(id, data.join("\n"));
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      else if (line.startsWith("id:")) id = line.slice(3).trim();
    }
  }
}
