// The feed of the signed-in person: server-sent events, read with fetch because EventSource cannot send a token. After an
// interruption the server continues at Last-Event-ID.

import { identity, own } from "./api.js";
import { signedIn } from "./session.js";

/**
 * Follows the feed until the page is closed or the session ends. Reconnects with exponential back-off.
 * @param {(event: {kind: string, subject: string, createdAt: string}) => void} onEvent
 * @param {() => void} onBack called after each reconnect: events before the first one of the new stream may be missing
 */
export async function follow(onEvent, onBack) {
  let cursor = "";
  for (let attempt = 0, before = false; signedIn(); attempt++) {
    try {
      const { response } = await own("GET", `${identity}/events`,
        { accept: "text/event-stream", headers: cursor ? { "Last-Event-ID": cursor } : {} });
      if (before) onBack();
      [attempt, before] = [0, true];
      await read(/** @type {ReadableStream} */ (response.body), (id, data) => {
        cursor = id || cursor;
        const event = JSON.parse(data);
        if (event.kind) onEvent(event); // the first event only has a cursor
      });
    } catch { /* tried again below */ }
    await new Promise((resolve) => setTimeout(resolve, Math.min(60, 2 ** attempt) * (500 + Math.random() * 500)));
  }
}

/** Parses an event stream (WHATWG HTML, 9.2.6). @param {ReadableStream} stream @param {(id: string, data: string) => void} onEvent */
async function read(stream, onEvent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", id = "";
  /** @type {string[]} */
  let data = [];
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
