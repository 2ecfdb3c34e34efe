import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type AdminOperation,
  adminErrorBodySchema,
  adminSocketName,
  operatorHeader,
  serviceFolderName,
} from '@mayfly/contract/admin';
import type { z } from 'zod';
import { Failure, usageFailure } from '../cli-io.ts';

export const timeoutMs = 30_000;

type Input<Op, Part extends 'params' | 'query' | 'body'> = Op extends {
  readonly [Name in Part]: infer Schema extends z.ZodType;
}
  ? { readonly [Name in Part]: z.input<Schema> }
  : { readonly [Name in Part]?: undefined };

/** The input of an operation. */
type Call<Op> = Input<Op, 'params'> & Input<Op, 'query'> & Input<Op, 'body'>;

interface SocketResponse {
  readonly status: number;
  readonly body: string;
}

/** Client of the admin socket in a data folder. */
export class AdminClient {
  readonly #dataDir: string;
  readonly #operator: string;

  /** The operator's name goes into the audit trail. */
  constructor(dataDir: string, operator: string) {
    this.#dataDir = dataDir;
    this.#operator = operator;
  }

  /** Performs one operation. Throws a Failure that explains why it was not done. */
  async call<Op extends AdminOperation>(
    operation: Op,
    { params, query, body }: Call<Op>,
  ): Promise<z.output<Op['response']>> {
    const issues = [operation.query?.safeParse(query), operation.body?.safeParse(body)].flatMap(
      (checked) => checked?.error?.issues ?? [],
    );
    if (issues.length > 0) throw usageFailure(`${issues.map(({ message }) => message).join('; ')}.`);
    const response = await this.#send(operation.method, urlOf(operation, params, query), body);
    if (response.status >= 400) throw errorOf(response);
    const parsed = operation.response.safeParse(jsonOf(response.body));
    if (!parsed.success) throw unexpectedResponse(parsed.error);
    return parsed.data as z.output<Op['response']>;
  }

  async #send(method: string, path: string, body: unknown): Promise<SocketResponse> {
    try {
      // The kernel limits a socket path to 107 bytes. Going through an open directory keeps it short.
      const folder = openSync(serviceFolder(this.#dataDir), constants.O_RDONLY | constants.O_DIRECTORY);
      try {
        const socketPath = `/proc/self/fd/${folder}/${adminSocketName}`;
        return await sendRequest(socketPath, method, path, body, this.#operator);
      } finally {
        closeSync(folder);
      }
    } catch (cause) {
      throw explainNoResponse(cause, this.#dataDir);
    }
  }
}

function urlOf({ path }: AdminOperation, params: unknown, query: unknown): string {
  const values = params as Readonly<Record<string, string>> | undefined;
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values?.[name] ?? ''));
  const given = Object.entries((query ?? {}) as Readonly<Record<string, string | undefined>>);
  const search = new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
  return search.size === 0 ? url : `${url}?${search.toString()}`;
}

async function sendRequest(
  socketPath: string,
  method: string,
  path: string,
  body: unknown,
  operator: string,
): Promise<SocketResponse> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    [operatorHeader]: encodeURIComponent(operator),
    ...(payload !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    request({ socketPath, method, path, headers, agent: false, signal }, resolve).once('error', reject).end(payload);
  });
  return { status: response.statusCode ?? 0, body: await text(response) };
}

function errorOf({ body }: SocketResponse): Failure {
  const { success, data, error } = adminErrorBodySchema.safeParse(jsonOf(body));
  return success ? new Failure(data.error.message.replace(/\.?$/, '.')) : unexpectedResponse(error);
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw unexpectedResponse(cause);
  }
}

function unexpectedResponse(cause: unknown): Failure {
  return new Failure('Unexpected response from the service. If Mayfly was updated, restart the service.', { cause });
}

/** Where the service of a data folder has its socket. A service that was started without a host process, as in tests, has no part of its own. */
function serviceFolder(dataDir: string): string {
  const folder = join(dataDir, serviceFolderName);
  return existsSync(folder) ? folder : dataDir;
}

function explainNoResponse(cause: unknown, dataDir: string): Failure {
  const failure = (message: string) => new Failure(message, { cause });
  const unknownOutcome = 'The operation may or may not have been done; check the log of the service.';
  switch (cause instanceof Error && 'code' in cause ? cause.code : undefined) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ECONNREFUSED':
      return failure(
        `No Mayfly service is running with the data folder ${dataDir}. Start it with npm start, or pass the data folder of the running service with --data-dir or MAYFLY_DATA_DIR.`,
      );
    case 'EACCES':
    case 'EPERM':
      return failure(
        `Permission denied: only root can administer the service with the data folder ${dataDir}. Use sudo, and --data-dir if sudo drops MAYFLY_DATA_DIR.`,
      );
    case 'ABORT_ERR':
      return failure(
        `The service with the data folder ${dataDir} did not respond within ${timeoutMs / 1000} seconds. ${unknownOutcome}`,
      );
    default: {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return failure(
        `The request to the service with the data folder ${dataDir} failed (${reason}). ${unknownOutcome}`,
      );
    }
  }
}
