import { z } from 'zod';
import {
  booleanParameter,
  fieldOr,
  fitsCodePoints,
  isAnyObject,
  isBase64,
  optionalBody,
  parameterOr,
  queryWithReserved,
  withoutNul,
} from '../fields.ts';
import { formatBytes, type Limits, workspacePath } from '../limits.ts';
import { deletedFileSchema, directorySchema, fileEncodings, fileSchema, writtenFileSchema } from '../resources/file.ts';
import { operation, sandboxParameters } from './operation.ts';

/** PATH_MAX of Linux. It counts bytes, so a path within this many characters can still be too long. */
const maxPathCharacters = 4_096;

/**
 * Resolves a path to an absolute one without `.`, `..` and repeated slashes. A relative path starts in /workspace; the result is
 * undefined if it leads out of it.
 */
export function resolveFilePath(path: string): string | undefined {
  const isAbsolute = path.startsWith('/');
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.length > 0) names.pop();
    else if (!isAbsolute) return undefined;
  }
  if (isAbsolute) return `/${names.join('/')}`;
  return [workspacePath, ...names].join('/');
}

/** A path as the caller sent it. */
const filePath = withoutNul('path', z.string({ error: 'path must be a string' }))
  .refine((path) => path !== '', { error: 'path must not be empty', abort: true })
  .refine((path) => fitsCodePoints(path, maxPathCharacters), {
    error: `path must be at most ${maxPathCharacters} characters`,
    abort: true,
  })
  .refine((path) => path.isWellFormed(), { error: 'path must be valid Unicode' })
  .refine((path) => resolveFilePath(path) !== undefined, { error: `path must not lead out of ${workspacePath}` })
  .meta({ minLength: 1, maxLength: maxPathCharacters, examples: ['notes.txt'] });

const encoding = z.enum(fileEncodings, { error: `encoding must be one of ${fileEncodings.join(', ')}` });

const writeFileBody = optionalBody({
  path: filePath.describe(
    `A relative path resolves inside \`${workspacePath}\`. Missing parent directories are created.`,
  ),
  content: z
    .string({ error: 'content must be a string' })
    .meta({ description: 'Transferred verbatim.', examples: ['hello\n'] }),
  encoding: fieldOr(encoding, 'utf8').describe('The encoding of `content`. Use `base64` for binary files.'),
})
  .refine((body) => body.encoding !== 'base64' || typeof body.content !== 'string' || isBase64(body.content), {
    error: 'content must be base64 with padding and without white space',
    when: isAnyObject,
  })
  .refine((body) => body.encoding === 'base64' || typeof body.content !== 'string' || body.content.isWellFormed(), {
    error: 'content must be valid Unicode',
    when: isAnyObject,
  });

/** PUT /sandboxes/{id}/files */
export function writeFile(limits: Limits) {
  return operation({
    id: 'writeFile',
    method: 'PUT',
    path: '/sandboxes/{id}/files',
    tag: 'Files',
    summary: 'Write a file',
    description: `Up to ${formatBytes(limits.fileBytes)}. The file is replaced atomically: a failed write leaves the previous file unchanged. Symbolic links are followed, and an existing file keeps its mode.`,
    params: sandboxParameters,
    body: writeFileBody,
    bodySize: 'file',
    responses: { 201: writtenFileSchema },
    outcomes: { 201: 'The file was written.' },
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
    description: `Returns a file of up to ${formatBytes(limits.fileBytes)} with its content, or a directory as a listing sorted by name.`,
    params: sandboxParameters,
    query: queryWithReserved(
      {
        path: parameterOr(filePath, workspacePath).describe(`A relative path resolves inside \`${workspacePath}\`.`),
        encoding: encoding
          .optional()
          .describe(
            'The encoding of the returned content. The default is `utf8` if the bytes are UTF-8, else `base64`.',
          ),
        list: parameterOr(booleanParameter('list'), false).describe('If true, the path must be a directory.'),
      },
      'depth',
    ),
    responses: { 200: z.union([fileSchema, directorySchema]) },
    outcomes: { 200: 'The file with its content, or the directory listing.' },
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
  description: `A symbolic link is deleted itself, not its target. \`/\` and \`${workspacePath}\` cannot be deleted.`,
  params: sandboxParameters,
  query: z.object({
    path: filePath
      .refine((path) => !undeletable.has(resolveFilePath(path)), {
        error: `path must not be / or ${workspacePath} itself`,
      })
      .describe(`A relative path resolves inside \`${workspacePath}\`.`),
    recursive: parameterOr(booleanParameter('recursive'), false).describe('Must be true to delete a directory.'),
  }),
  responses: { 200: deletedFileSchema },
  outcomes: { 200: 'The file or directory was deleted.' },
  errors: ['invalid_request', 'write_failed', 'not_found', 'sandbox_not_running', 'execution_failed'],
});

export type WriteFileBody = z.output<typeof writeFileBody>;
export type ReadFileQuery = z.output<ReturnType<typeof readFile>['query']>;
export type DeleteFileQuery = z.output<(typeof deleteFile)['query']>;
