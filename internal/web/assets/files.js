// Reads files from drag and drop (also folders), the file dialog and the clipboard. With a file handle, which not every
// browser gives, an upload can be resumed after the page was closed without choosing the file again.

/** @typedef {{file: File, name: string, handle?: FileSystemFileHandle}} Chosen */

/** Hidden files that operating systems create; they are skipped. */
const litter = /^(?:\.DS_Store|Thumbs\.db|desktop\.ini|\._.*)$/;

/** Replaces control characters and characters that change the text direction. @param {string} name */
const clean = (name) => name.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "_").slice(0, 1000);

/** @param {File} file @param {string} [name] @param {FileSystemFileHandle} [handle] @returns {Chosen} */
const chosen = (file, name = file.webkitRelativePath || file.name, handle) => ({ file, name: clean(name), handle });

/**
 * Returns what `read` returns. When it fails, adds the name to `lost` and returns nothing: one unreadable file does not stop the others.
 * @param {string[]} lost @param {string} name @param {() => Promise<Chosen[]>} read @returns {Promise<Chosen[]>}
 */
const orLost = (lost, name, read) => read().catch(() => { lost.push(name); return []; });

/**
 * Returns the files of a DataTransfer, folders with everything in them. Must be called in the event's handler: afterwards the
 * browser empties the DataTransfer.
 * @param {DataTransfer} data @param {string[]} lost receives the names of unreadable files @returns {Promise<Chosen[]>}
 */
export async function fromDataTransfer(data, lost) {
  const items = [...data.items].filter((item) => item.kind === "file");
  const found = await Promise.all(items.map(async (item) => {
    const [entry, file] = [item.webkitGetAsEntry?.(), item.getAsFile()];
    const handle = await item.getAsFileSystemHandle?.().catch(() => null);
    if (handle?.kind === "directory") return orLost(lost, handle.name, () => inDirectory(handle, handle.name, lost));
    if (handle) return orLost(lost, handle.name, async () => [chosen(await handle.getFile(), handle.name, handle)]);
    if (entry?.isDirectory) return orLost(lost, entry.name, () => inEntry(entry, entry.name, lost));
    return file ? [chosen(file)] : [];
  }));
  return found.flat();
}

/** @param {FileSystemDirectoryHandle} directory @param {string} path @param {string[]} lost @returns {Promise<Chosen[]>} */
async function inDirectory(directory, path, lost) {
  const found = [];
  for await (const child of directory.values()) {
    if (litter.test(child.name)) continue;
    const name = `${path}/${child.name}`;
    found.push(...await orLost(lost, name, async () => (child.kind === "directory" ? inDirectory(child, name, lost)
      : [chosen(await child.getFile(), name, child)])));
  }
  return found;
}

/** The same for browsers without handles. @param {any} entry @param {string} path @param {string[]} lost @returns {Promise<Chosen[]>} */
async function inEntry(entry, path, lost) {
  const reader = entry.createReader();
  const found = [];
  for (;;) { // readEntries returns at most 100 entries at a time
    /** @type {any[]} */
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    for (const child of part) {
      if (litter.test(child.name)) continue;
      const name = `${path}/${child.name}`;
      found.push(...await orLost(lost, name, async () => (child.isDirectory ? inEntry(child, name, lost)
        : [chosen(await new Promise((resolve, reject) => child.file(resolve, reject)), name)])));
    }
  }
}

/** Returns the files of an input. @param {FileList} files @returns {Chosen[]} */
export const fromInput = (files) => [...files].filter((file) => !litter.test(file.name)).map((file) => chosen(file));

/**
 * Returns the pasted files. Pasted images all have the same name, so they get the time.
 * @param {ClipboardEvent} event @returns {Chosen[]}
 */
export function fromPaste(event) {
  const stamp = new Date().toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  return [...event.clipboardData?.files ?? []].map((file, i) =>
    chosen(file, /^image\.\w+$/.test(file.name) ? file.name.replace("image", `image ${stamp}${i ? ` ${i + 1}` : ""}`) : file.name));
}

/** Whether the file dialog of this browser gives handles. */
export const hasPicker = "showOpenFilePicker" in window;

/** Shows the file dialog. @param {string[]} lost receives the names of unreadable files @returns {Promise<Chosen[]>} */
export async function fromPicker(lost) {
  try {
    const handles = await window.showOpenFilePicker({ multiple: true });
    const found = handles.map((handle) => orLost(lost, handle.name, async () => [chosen(await handle.getFile(), handle.name, handle)]));
    return (await Promise.all(found)).flat();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return [];
    throw error;
  }
}

/**
 * Returns the file of a handle, or null without permission to read it.
 * @param {FileSystemFileHandle | undefined} handle
 * @param {boolean} ask whether the browser asks for the permission, which it does only after a click
 * @returns {Promise<File | null>}
 */
export async function reopen(handle, ask) {
  try {
    if (!handle) return null;
    const state = ask ? await handle.requestPermission({ mode: "read" }) : await handle.queryPermission({ mode: "read" });
    return state === "granted" ? await handle.getFile() : null;
  } catch {
    return null;
  }
}
