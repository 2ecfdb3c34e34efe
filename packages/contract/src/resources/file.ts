import { z } from 'zod';
import { sandboxId } from './ids.ts';

/** How the bytes of a file travel in JSON: as text, or as base64 with padding and without line breaks. */
export const fileEncodings = ['utf8', 'base64'] as const;

export type FileEncoding = (typeof fileEncodings)[number];

const absolutePath = z
  .string()
  .meta({ description: 'The absolute path in the sandbox.', examples: ['/workspace/notes.txt'] });

/** A file that was written. */
export const writtenFileSchema = z
  .object({
    object: z.literal('file'),
    sandbox_id: sandboxId.describe('Where it was written.'),
    path: absolutePath,
    bytes: z
      .int()
      .min(0)
      .meta({ description: 'How large the file is on disk.', examples: [6] }),
  })
  .meta({ id: 'WrittenFile', description: 'A file that was written.' });

export type WrittenFile = z.infer<typeof writtenFileSchema>;

/** A file with what is in it. */
export const fileSchema = z
  .object({
    object: z.literal('file'),
    path: absolutePath,
    bytes: z
      .int()
      .min(0)
      .meta({ description: 'How large the file is.', examples: [6] }),
    encoding: z.enum(fileEncodings).describe('How `content` is to be read.'),
    content: z.string().meta({ description: 'What is in it.', examples: ['hello\n'] }),
  })
  .meta({ id: 'File', description: 'A file with what is in it.' });

export type File = z.infer<typeof fileSchema>;

/** One name in a directory. */
const directoryEntrySchema = z
  .object({
    name: z.string().meta({ description: 'What is no UTF-8 in it is replaced by U+FFFD.', examples: ['notes.txt'] }),
    type: z.enum(['file', 'dir', 'symlink']).describe('Devices, sockets and pipes show as `file`.'),
    size_bytes: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Null for everything but regular files.', examples: [6] }),
  })
  .meta({ id: 'DirectoryEntry', description: 'One name in a directory.' });

export type DirectoryEntry = z.infer<typeof directoryEntrySchema>;

/** What is in a directory, sorted by name. */
export const directorySchema = z
  .object({
    object: z.literal('list'),
    path: z.string().meta({ description: 'The absolute path in the sandbox.', examples: ['/workspace'] }),
    entries: z.array(directoryEntrySchema).describe('Sorted by name.'),
  })
  .meta({ id: 'DirectoryListing', description: 'What is in a directory.' });

export type Directory = z.infer<typeof directorySchema>;

/** What deleting a file or directory answers. */
export const deletedFileSchema = z
  .object({
    object: z.literal('file'),
    sandbox_id: sandboxId.describe('Where it was.'),
    path: absolutePath,
    deleted: z.literal(true),
  })
  .meta({ id: 'DeletedFile', description: 'A file or directory that is gone.' });

export type DeletedFile = z.infer<typeof deletedFileSchema>;
