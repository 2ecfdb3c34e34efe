import { adminErrorBodySchema } from '@mayfly/contract/admin/errors.ts';
import type { AdminOperation } from '@mayfly/contract/admin/operation.ts';
import { adminSocketName } from '@mayfly/contract/admin/socket.ts';
import type { z } from 'zod';
import { Failure, usageFailure } from '../failure.ts';
import { explainNoAnswer } from './explain.ts';
import { requestThroughSocket, type SocketAnswer } from './socket-request.ts';

const timeoutMs = 30_000;

type Input<Op, Part extends 'params' | 'body'> = Op extends { readonly [Name in Part]: infer Schema extends z.ZodType }
  ? { readonly [Name in Part]: z.input<Schema> }
  : { readonly [Name in Part]?: undefined };

/** What an operation takes. */
type Call<Op> = Input<Op, 'params'> & Input<Op, 'body'>;

/** Speaks to the service that holds a data folder. */
export class AdminClient {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Does one operation. Throws a Failure that says why it was not done. */
  async call<Op extends AdminOperation>(operation: Op, { params, body }: Call<Op>): Promise<z.output<Op['response']>> {
    const checked = operation.body?.safeParse(body);
    if (checked?.success === false)
      throw usageFailure(`${checked.error.issues.map(({ message }) => message).join('; ')}.`);
    const answer = await this.#send(operation.method, pathOf(operation, params), body);
    if (answer.status >= 400) throw refusalOf(answer);
    const read = operation.response.safeParse(jsonOf(answer.body));
    if (!read.success) throw notUnderstood(read.error);
    return read.data as z.output<Op['response']>;
  }

  async #send(method: string, path: string, body: unknown): Promise<SocketAnswer> {
    try {
      return await requestThroughSocket({
        folder: this.#dataDir,
        name: adminSocketName,
        method,
        path,
        body,
        timeoutMs,
      });
    } catch (cause) {
      throw explainNoAnswer(cause, this.#dataDir, timeoutMs);
    }
  }
}

function pathOf({ path }: AdminOperation, params: unknown): string {
  const values = params as Readonly<Record<string, string>> | undefined;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values?.[name] ?? ''));
}

function refusalOf({ body }: SocketAnswer): Failure {
  const { success, data, error } = adminErrorBodySchema.safeParse(jsonOf(body));
  return success ? new Failure(`${data.error.message}.`) : notUnderstood(error);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notUnderstood(cause);
  }
}

function notUnderstood(cause: unknown): Failure {
  return new Failure(
    'the service gave an answer that this command does not understand; restart it if it was updated.',
    {
      cause,
    },
  );
}
