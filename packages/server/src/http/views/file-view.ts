import type { DeletedFile, Directory, WrittenFile } from '@mayfly/contract';
import type { DeletedFileRecord } from '../../core/files/delete.ts';
import type { DirectoryRecord } from '../../core/files/list.ts';
import type { WrittenFileRecord } from '../../core/files/write.ts';

/** A file that was written. */
export function writtenFileView({ sandboxId, path, sizeBytes }: WrittenFileRecord): WrittenFile {
  return { object: 'file', sandbox_id: sandboxId, path, bytes: sizeBytes };
}

/** A directory; devices, sockets and pipes show as files without a size. */
export function directoryView({ path, entries }: DirectoryRecord): Directory {
  return {
    object: 'list',
    path,
    entries: entries.map(({ name, type, sizeBytes }) => ({
      name: name.toString('utf8'),
      type: type === 'other' ? 'file' : type,
      size_bytes: type === 'file' ? sizeBytes : null,
    })),
  };
}

/** What a delete answers. */
export function deletedFileView({ sandboxId, path }: DeletedFileRecord): DeletedFile {
  return { object: 'file', sandbox_id: sandboxId, path, deleted: true };
}
