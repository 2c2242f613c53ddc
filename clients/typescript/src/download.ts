import { sha256 } from "@noble/hashes/sha2.js";

import { DigestError } from "./errors.js";
import { must, type Consign } from "./index.js";
import { Backoff, passes } from "./retry.js";
import type { components } from "./transfer.js";
import { hex } from "./upload.js";

/** A file of a transfer. */
export interface ReceivedFile {
  uid: string;
  name: string;
  size: number;
  /** Hex; empty when the server does not know it. */
  sha256: string;
  url: string;
  /** Of a link. */
  token?: string;
}

function files(list: components["schemas"]["DeliveredObject"][], base: string, token?: string): ReceivedFile[] {
  return list.map((o) => ({
    uid: o.uid, name: o.name ?? "", size: o.contentLength, sha256: o.sha256 ?? "", url: `${base}/objects/${o.uid}/content`,
    ...(token !== undefined && { token }),
  }));
}

/** The files of a transfer that the caller has sent or received. */
export async function objectsOf(consign: Consign, uid: string): Promise<ReceivedFile[]> {
  const transfer = must(await consign.transfer.GET("/transfers/{uid}", { params: { path: { uid } } }));
  return files(transfer.objects ?? [], `${consign.transferURL}/transfers/${encodeURIComponent(uid)}`);
}

/** The files of a link, https://HOST/t/KEY. */
export async function openLink(consign: Consign, key: string, password?: string): Promise<ReceivedFile[]> {
  const path = { key };
  const { token } = must(await consign.transfer.POST("/public/transfers/{key}/access", {
    params: { path }, body: password === undefined ? {} : { password },
  }));
  const transfer = must(await consign.transfer.GET("/public/transfers/{key}",
    { params: { path }, headers: { Authorization: `Bearer ${token}` } }));
  return files(transfer.objects ?? [], `${consign.transferURL}/public/transfers/${encodeURIComponent(key)}`, token);
}

/**
 * The bytes of a file, continued after interruptions. It throws a DigestError after the last byte when the SHA-256 is not that of the
 * sent file: do not use the bytes before the loop has ended.
 */
export async function* download(consign: Consign, file: ReceivedFile): AsyncGenerator<Uint8Array> {
  const digest = sha256.create();
  const pauses = new Backoff(consign);
  let held = 0;
  while (held < file.size) {
    try {
      const headers: Record<string, string> = file.token === undefined ? {} : { Authorization: `Bearer ${file.token}` };
      if (held > 0) headers["Range"] = `bytes=${held}-`;
      const answer = await consign.request(file.url, { headers });
      if (held > 0 && answer.status !== 206) throw new Error(`the server answered ${answer.status} to a range`);
      const reader = answer.body?.getReader();
      for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
        held += part.value.length;
        if (held > file.size) throw new Error(`${file.name} is longer than the server said`);
        pauses.reset();
        digest.update(part.value);
        yield part.value;
      }
      if (held < file.size) throw new TypeError("the download was cut off");
    } catch (error) {
      if (!passes(error)) throw error;
      await pauses.wait(error);
    }
  }
  if (file.sha256 !== "" && hex(digest.digest()) !== file.sha256)
    throw new DigestError(`${file.name} has another SHA-256 than the file that was sent`);
}
