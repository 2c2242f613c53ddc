// Parts of the File System API that TypeScript's own library does not describe. Not every browser has them.

interface Window {
  showOpenFilePicker(options: { multiple: true }): Promise<FileSystemFileHandle[]>;
}

interface FileSystemHandle {
  queryPermission(descriptor: { mode: "read" }): Promise<PermissionState>;
  requestPermission(descriptor: { mode: "read" }): Promise<PermissionState>;
}

interface FileSystemDirectoryHandle {
  values(): AsyncIterableIterator<FileSystemFileHandle | FileSystemDirectoryHandle>;
}

interface DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemFileHandle | FileSystemDirectoryHandle | null>;
}
