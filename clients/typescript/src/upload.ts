import { sha256 } from "@noble/hashes/sha2.js";

import { ChangedError, ConsignError } from "./errors.js";
import type { Consign, Transfer } from "./index.js";
import { Backoff, once, passes, repeat } from "./retry.js";
import type { components } from "./transfer.js";

/**
 * To whom files go: to a mailbox, from anybody; to the person who asks for documents; or to recipients, or with none to everybody who has
 * the link.
 */
export interface Delivery {
  /** Key of the link of a party of a request; each source names its item. No other member counts then. */
  request?: string;
  /** Link name of a mailbox, or uid of its owner. */
  mailbox?: string;
  senderName?: string;
  senderEmail?: string;
  recipients?: string[];
  subject?: string;
  message?: string;
  /** Answers to the questions of a mailbox. */
  fields?: Record<string, string>;
  /** Days; the organization's default without it. */
  ttl?: number;
  password?: string;
}

/** A file to send: a File of a browser, or `localFile` of @consign/client/node. `name` may have slashes, which make folders. */
export interface Source {
  name: string;
  blob: Blob;
  /** uid of the item of a request that the file is for. */
  item?: string;
}

export interface SentObject {
  clientId: string;
  name: string;
  size: number;
  /** Hex; once the file is complete. */
  sha256?: string;
}

/** What a program stores to continue an upload later, within 48 hours. `token` is a secret. */
export interface UploadState {
  uid: string;
  token: string;
  objects: SentObject[];
  /** Of the client ids, where other programs attach files, too. */
  prefix?: string;
}

export interface UploadOptions {
  /** Files at a time; 4. */
  parallel?: number;
  /** Bytes of a request; 8 MiB. */
  chunk?: number;
  /** Called when the server holds more bytes of a file. */
  onProgress?: (file: number, held: number) => void;
}

/** Begins a delivery. It is repeated with an Idempotency-Key when its answer is lost, and so makes one reservation. */
export async function reserve(consign: Consign, d: Delivery): Promise<Upload> {
  let response: Response;
  let uid: string;
  let prefix: string | undefined;
  const texts = { ...(d.subject !== undefined && { subject: d.subject }), ...(d.message !== undefined && { message: d.message }) };
  if (d.request !== undefined) { // the reservation of a party is the same until it is confirmed
    const key = d.request;
    const made = await repeat(consign, () => consign.transfer.POST("/public/requests/{key}", { params: { path: { key } } }));
    response = made.response;
    uid = made.data?.reservation ?? "";
    prefix = `${crypto.randomUUID()}-`;
  } else if (d.mailbox !== undefined) {
    const key = d.mailbox;
    const body = { ...texts, ...(d.senderName !== undefined && { anonSender: d.senderName }),
      ...(d.senderEmail !== undefined && { anonEmail: d.senderEmail }) };
    const made = await once(consign, (header) => consign.transfer.POST("/public/mailbox/{key}",
      { params: { path: { key }, header }, body }));
    response = made.response;
    uid = made.data?.uid ?? "";
  } else {
    const body: components["schemas"]["ReservationPatch"] = texts;
    if (d.recipients?.length) body.recipients = d.recipients.map((email) => ({ email, destinationType: "to" as const }));
    if (d.ttl !== undefined) body.ttl = d.ttl;
    if (d.password !== undefined) Object.assign(body, { protection: "password", password: d.password });
    const made = await once(consign, (header) => consign.transfer.POST("/reservations", { params: { header }, body }));
    response = made.response;
    uid = made.data?.uid ?? "";
  }
  const token = response.headers.get("Authorization")?.replace(/^Bearer /, "");
  if (!uid || !token) throw new Error("the server made a reservation without its token");
  const upload = new Upload(consign, { uid, token, objects: [], ...(prefix !== undefined && { prefix }) });
  if (d.mailbox !== undefined && d.fields && Object.keys(d.fields).length > 0) {
    await consign.transfer.PATCH("/reservations/{uid}", {
      params: { path: { uid } }, headers: upload.authorization, body: { fields: d.fields },
    });
  }
  return upload;
}

/** An open reservation: attach files, send them, confirm. */
export class Upload {
  private sources: Source[] = [];

  constructor(private readonly consign: Consign, readonly state: UploadState) {}

  /** Continues an upload that was stored. `sources` are the files of its objects, in their order. */
  static resume(consign: Consign, state: UploadState, sources: Source[]): Upload {
    const upload = new Upload(consign, structuredClone(state));
    if (sources.length !== state.objects.length) throw new Error(`the upload has ${state.objects.length} files, not ${sources.length}`);
    sources.forEach((source, i) => {
      if (source.blob.size !== state.objects[i]?.size) throw new ChangedError(`${source.name} has another size than when its upload began`);
    });
    upload.sources = sources;
    return upload;
  }

  /** Authorizes calls of this reservation. */
  get authorization(): { Authorization: string } {
    return { Authorization: `Bearer ${this.state.token}` };
  }

  /** Adds files. It can be repeated after an error. */
  async attach(sources: Source[]): Promise<void> {
    const objects = sources.map((s, i) => ({ clientId: `${this.state.prefix ?? "f"}${this.state.objects.length + i}`, name: s.name,
      intendedSize: s.blob.size }));
    for (const item of new Set(sources.map((s) => s.item))) {
      const list = objects.filter((_, i) => sources[i]?.item === item);
      for (let at = 0; at < list.length; at += 1000) {
        // the server recognizes objects that it has
        await repeat(this.consign, () => this.consign.transfer.POST("/reservations/{uid}/objects", {
          params: { path: { uid: this.state.uid }, ...(item !== undefined && { query: { item } }) }, headers: this.authorization,
          body: { objects: list.slice(at, at + 1000) },
        }));
      }
    }
    this.state.objects.push(...objects.map(({ clientId, name, intendedSize }) => ({ clientId, name, size: intendedSize })));
    this.sources.push(...sources);
  }

  /** Sends the bytes of all files that are not complete. The server compares the SHA-256 of each. */
  async send(options: UploadOptions = {}): Promise<void> {
    const queue = this.state.objects.map((_, i) => i).filter((i) => this.state.objects[i]?.sha256 === undefined);
    let failure: unknown;
    const worker = async () => {
      for (let i = queue.shift(); i !== undefined && failure === undefined; i = queue.shift()) {
        try {
          await this.sendFile(i, options);
        } catch (error) {
          failure ??= error;
        }
      }
    };
    await Promise.all(Array.from({ length: options.parallel ?? 4 }, worker));
    if (failure !== undefined) throw failure;
  }

  private url(i: number): string {
    return `${this.consign.transferURL}/reservations/${this.state.uid}/objects/${encodeURIComponent(this.state.objects[i]?.clientId
      ?? "")}/content`;
  }

  private async held(i: number): Promise<number> {
    const answer = await this.consign.request(this.url(i), { method: "HEAD", headers: this.authorization });
    return Number(answer.headers.get("Content-Length"));
  }

  private async sendFile(i: number, { chunk = 8 << 20, onProgress }: UploadOptions): Promise<void> {
    const object = this.state.objects[i];
    const blob = this.sources[i]?.blob;
    if (!object || !blob) throw new Error("the upload has no such file");
    const size = object.size;
    const digest = sha256.create();
    let hashed = 0;
    const hashTo = async (end: number) => {
      while (hashed < end) {
        const bytes = await read(blob, hashed, Math.min(hashed + chunk, end));
        digest.update(bytes);
        hashed += bytes.length;
      }
    };
    const pauses = new Backoff(this.consign);
    let held: number | undefined;
    while (held === undefined || held < size) {
      try {
        if (held === undefined) {
          held = await this.held(i);
          onProgress?.(i, held);
          continue;
        }
        await hashTo(held);
        const end = Math.min(held + chunk, size);
        const bytes = await read(blob, held, end);
        const headers: Record<string, string> = {
          ...this.authorization, "Content-Type": "application/octet-stream", "Content-Range": `bytes ${held}-${end - 1}/${size}`,
        };
        if (hashed === held) {
          digest.update(bytes);
          hashed = end;
        }
        if (end === size) headers["Repr-Digest"] = `sha-256=:${base64(digest.clone().digest())}:`;
        await this.consign.request(this.url(i), { method: "PUT", headers, body: bytes });
        held = end;
        pauses.reset();
        onProgress?.(i, held);
      } catch (error) {
        if (error instanceof ConsignError
          && error.code === 400013) throw new ChangedError(`${object.name} has changed since its upload began`);
        const where = error instanceof ConsignError && error.code === 416001
          ? /^bytes \*\/(\d+)$/.exec(error.headers.get("Content-Range") ?? "") : null;
        if (!where && !passes(error) && !(error instanceof ConsignError && error.code === 400012)) throw error;
        if (!where || Number(where[1]) <= (held ?? 0)) await pauses.wait(error);
        held = where ? Number(where[1]) : undefined;
      }
    }
    await hashTo(size);
    object.sha256 = hex(digest.digest());
  }

  /**
   * Delivers the transfer. Of a request it hands in what is uploaded, also without files of all required items. When the answer of an
   * earlier confirm was lost, the result has only the uid.
   */
  async confirm(): Promise<Pick<Transfer, "uid"> & Partial<Transfer>> {
    try {
      const { data } = await repeat(this.consign, () => this.consign.transfer.POST("/reservations/{uid}/confirm", {
        params: { path: { uid: this.state.uid } }, headers: this.authorization,
      }));
      if (!data) throw new Error("the confirm has no transfer");
      return data;
    } catch (error) { // a second confirm is recognized
      if (error instanceof ConsignError && error.code === 409010 && error.transfer) return { uid: error.transfer };
      throw error;
    }
  }

  /** Gives the upload up; the server deletes what it holds. */
  async cancel(): Promise<void> {
    await this.consign.transfer.DELETE("/reservations/{uid}", { params: { path: { uid: this.state.uid } }, headers: this.authorization });
  }
}

async function read(blob: Blob, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const bytes = new Uint8Array(await blob.slice(from, to).arrayBuffer());
    if (bytes.length === to - from) return bytes;
  } catch (error) {
    throw new ChangedError("the file has changed or cannot be read", { cause: error });
  }
  throw new ChangedError("the file is shorter than when its upload began");
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
