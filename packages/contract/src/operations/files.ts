import { z } from 'zod';
import { byteWords } from '../byte-words.ts';
import { booleanParameter, fieldOr, optionalBody, parameterOr } from '../fields.ts';
import { type Limits, workspacePath } from '../limits.ts';
import { deletedFileSchema, directorySchema, fileEncodings, fileSchema, writtenFileSchema } from '../resources/file.ts';
import { filePath, resolveFilePath } from './file-path.ts';
import { sandboxParameters } from './id-parameters.ts';
import { operation } from './operation.ts';

const encoding = z.enum(fileEncodings, { error: `encoding must be one of ${fileEncodings.join(', ')}` });

/** Whether a text is base64 of the usual alphabet, with its padding and nothing else. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

const writeFileBody = optionalBody({
  path: filePath.describe(`A relative path is in \`${workspacePath}\`. Missing parent directories are made.`),
  content: z
    .string({ error: 'content must be a string' })
    .meta({ description: 'Transferred verbatim.', examples: ['hello\n'] }),
  encoding: fieldOr(encoding, 'utf8').describe('How `content` is to be read; `base64` for binary files.'),
}).refine((body) => body.encoding !== 'base64' || typeof body.content !== 'string' || isBase64(body.content), {
  error: 'content must be base64 with padding and without white space',
  // Beside failing rules of single fields, too.
  when: ({ value }) => typeof value === 'object' && value !== null,
});

/** PUT /sandboxes/{id}/files */
export function writeFile(limits: Limits) {
  return operation({
    id: 'writeFile',
    method: 'PUT',
    path: '/sandboxes/{id}/files',
    tag: 'Files',
    summary: 'Write a file',
    description: `Up to ${byteWords(limits.fileBytes)}. The file is written beside and renamed, so a write that fails leaves the old one as it was. Symbolic links are followed; the mode of a file that exists is kept.`,
    params: sandboxParameters,
    body: writeFileBody,
    bodySize: 'file',
    responses: { 201: writtenFileSchema },
    outcomes: { 201: 'The file is written.' },
    errors: [
      'invalid_request',
      'write_failed',
      'not_found',
      'sandbox_not_running',
      'file_too_large',
      'execution_failed',
    ],
  });
}

/** GET /sandboxes/{id}/files */
export function readFile(limits: Limits) {
  return operation({
    id: 'readFile',
    method: 'GET',
    path: '/sandboxes/{id}/files',
    tag: 'Files',
    summary: 'Read a file or list a directory',
    description: `A file of up to ${byteWords(limits.fileBytes)} comes with its content, a directory as a listing sorted by name.`,
    params: sandboxParameters,
    query: z.object({
      path: parameterOr(filePath, workspacePath).describe(`A relative path is in \`${workspacePath}\`.`),
      encoding: encoding
        .optional()
        .describe('How the content comes. Without it: `utf8` when the bytes are UTF-8, else `base64`.'),
      list: parameterOr(booleanParameter('list'), false).describe('Whether it must be a directory.'),
    }),
    responses: { 200: z.union([fileSchema, directorySchema]) },
    outcomes: { 200: 'The file with its content, or the listing of the directory.' },
    errors: [
      'invalid_request',
      'read_failed',
      'list_failed',
      'not_found',
      'sandbox_not_running',
      'file_too_large',
      'execution_failed',
    ],
  });
}

const undeletable = new Set<string | undefined>(['/', workspacePath]);

/** DELETE /sandboxes/{id}/files */
export const deleteFile = operation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/sandboxes/{id}/files',
  tag: 'Files',
  summary: 'Delete a file or directory',
  description: `A symbolic link is removed itself. Neither \`/\` nor \`${workspacePath}\` can be deleted.`,
  params: sandboxParameters,
  query: z.object({
    path: filePath
      .refine((path) => !undeletable.has(resolveFilePath(path)), {
        error: `path must not be / or ${workspacePath} itself`,
      })
      .describe(`A relative path is in \`${workspacePath}\`.`),
    recursive: parameterOr(booleanParameter('recursive'), false).describe('Must be true to delete a directory.'),
  }),
  responses: { 200: deletedFileSchema },
  outcomes: { 200: 'It is gone.' },
  errors: ['invalid_request', 'write_failed', 'not_found', 'sandbox_not_running', 'execution_failed'],
});

export type WriteFileBody = z.output<typeof writeFileBody>;
export type ReadFileQuery = z.output<ReturnType<typeof readFile>['query']>;
export type DeleteFileQuery = z.output<(typeof deleteFile)['query']>;
