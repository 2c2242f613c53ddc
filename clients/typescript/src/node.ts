import { openAsBlob } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename } from "node:path";

import { download, type ReceivedFile } from "./download.js";
import type { Consign } from "./index.js";
import type { Source } from "./upload.js";

/** A file of this machine to send. Its bytes are read as they are sent. */
export async function localFile(path: string, name = basename(path)): Promise<Source> {
  return { name, blob: await openAsBlob(path) };
}

/**
 * Downloads a file to a path: written as PATH.part, checked, synced and renamed. Choose the path yourself: names of senders can be hostile.
 */
export async function downloadTo(consign: Consign, file: ReceivedFile, path: string): Promise<void> {
  const part = `${path}.part`;
  const target = await open(part, "w");
  try {
    for await (const bytes of download(consign, file)) await target.writeFile(bytes);
    await target.sync();
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await target.close();
  }
  await rename(part, path);
}
