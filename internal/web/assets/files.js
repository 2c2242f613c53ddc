// Where files come from: dropped files and folders, the file dialog, the clipboard. Each comes as a Chosen; a handle,
// where the browser gives one, lets an upload go on after the page was closed without choosing the file again.

/** @typedef {{file: File, name: string, handle?: FileSystemFileHandle}} Chosen */

/** Files that systems leave in folders and nobody means to send. */
const litter = /^(?:\.DS_Store|Thumbs\.db|desktop\.ini|\._.*)$/;

/** Names hold no control characters and nothing that turns the direction of text around. @param {string} name */
const clean = (name) => name.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "_").slice(0, 1000);

/** @param {File} file @param {string} [name] @param {FileSystemFileHandle} [handle] @returns {Chosen} */
const chosen = (file, name = file.webkitRelativePath || file.name, handle) => ({ file, name: clean(name), handle });

/**
 * What is read, or nothing and its name among the lost: one that vanished or may not be read does not keep the others away.
 * @param {string[]} lost @param {string} name @param {() => Promise<Chosen[]>} read
 */
const orLost = (lost, name, read) => read().catch(() => { lost.push(name); return []; });

/**
 * What was dropped, folders with everything in them. Must be called while the event is being handled.
 * @param {DataTransfer} data @param {string[]} lost gets the names of what cannot be read @returns {Promise<Chosen[]>}
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

async function inEntry(entry, path, lost) {
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader gives its entries in portions
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

/** @param {FileList} files @returns {Chosen[]} */
export const fromInput = (files) => [...files].filter((file) => !litter.test(file.name)).map((file) => chosen(file));

/** @param {ClipboardEvent} event @returns {Chosen[]} */
export function fromPaste(event) {
  const stamp = new Date().toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  return [...event.clipboardData?.files ?? []].map((file, i) =>
    chosen(file, /^image\.\w+$/.test(file.name) ? file.name.replace("image", `image ${stamp}${i ? ` ${i + 1}` : ""}`) : file.name));
}

/** Whether the file dialog can give handles. */
export const hasPicker = "showOpenFilePicker" in window;

/** Shows the file dialog. @param {string[]} lost gets the names of what cannot be read @returns {Promise<Chosen[]>} */
export async function fromPicker(lost) {
  try {
    const handles = await window.showOpenFilePicker({ multiple: true });
    const found = handles.map((handle) => orLost(lost, handle.name, async () => [chosen(await handle.getFile(), handle.name, handle)]));
    return (await Promise.all(found)).flat();
  } catch (error) {
    if (error.name === "AbortError") return [];
    throw error;
  }
}

/**
 * The file behind a handle, if the browser lets us read it; ask makes it ask the person, which it does only after a click.
 * @param {FileSystemFileHandle | undefined} handle @param {boolean} ask @returns {Promise<File | null>}
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
