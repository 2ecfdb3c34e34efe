import { z } from 'zod';
import { sandboxId } from '../fields.ts';

/** How file content is encoded in JSON: as text, or as base64 with padding and without line breaks. */
export const fileEncodings = ['utf8', 'base64'] as const;

export type FileEncoding = (typeof fileEncodings)[number];

const absolutePath = z
  .string()
  .meta({ description: 'The absolute path in the sandbox.', examples: ['/workspace/notes.txt'] });

export const writtenFileSchema = z
  .object({
    object: z.literal('file'),
    sandbox_id: sandboxId.describe('The sandbox that the file is in.'),
    path: absolutePath,
    bytes: z
      .int()
      .min(0)
      .meta({ description: 'The size of the file on disk.', examples: [6] }),
  })
  .meta({ id: 'WrittenFile', description: 'The result of writing a file.' });

export type WrittenFile = z.infer<typeof writtenFileSchema>;

export const fileSchema = z
  .object({
    object: z.literal('file'),
    path: absolutePath,
    bytes: z
      .int()
      .min(0)
      .meta({ description: 'The size of the file.', examples: [6] }),
    encoding: z.enum(fileEncodings).describe('The encoding of `content`.'),
    content: z.string().meta({ description: 'The content of the file.', examples: ['hello\n'] }),
  })
  .meta({ id: 'File', description: 'A file with its content.' });

export type File = z.infer<typeof fileSchema>;

const directoryEntrySchema = z
  .object({
    name: z.string().meta({ description: 'Bytes that are not UTF-8 are replaced by U+FFFD.', examples: ['notes.txt'] }),
    type: z.enum(['file', 'dir', 'symlink']).describe('Devices, sockets and pipes are reported as `file`.'),
    size_bytes: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Null for anything but a regular file.', examples: [6] }),
  })
  .meta({ id: 'DirectoryEntry', description: 'One entry of a directory.' });

export type DirectoryEntry = z.infer<typeof directoryEntrySchema>;

export const directorySchema = z
  .object({
    object: z.literal('list'),
    path: z.string().meta({ description: 'The absolute path in the sandbox.', examples: ['/workspace'] }),
    entries: z.array(directoryEntrySchema).describe('Sorted by name.'),
  })
  .meta({ id: 'DirectoryListing', description: 'The entries of a directory.' });

export type Directory = z.infer<typeof directorySchema>;

export const deletedFileSchema = z
  .object({
    object: z.literal('file'),
    sandbox_id: sandboxId.describe('The sandbox that the file was in.'),
    path: absolutePath,
    deleted: z.literal(true),
  })
  .meta({ id: 'DeletedFile', description: 'A deleted file or directory.' });

export type DeletedFile = z.infer<typeof deletedFileSchema>;
