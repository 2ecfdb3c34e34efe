import { type ErrorEntry, errorTable, errorTypes, retryCategories } from '../error-table.ts';
import { fixedLimits, formatBytes, type Limits, workspacePath } from '../limits.ts';
import { commonErrors } from '../operations/operation.ts';
import { sizeNames, sizes } from '../sizes.ts';
import { limitTable } from './limit-table.ts';
import { errorExample } from './responses.ts';
import type { CodeSample } from './types.ts';
import { typescriptPrelude } from './typescript-samples.ts';

/** A block of text, code or a table. Backquotes mark code in text and cells. */
export type Block =
  | { readonly text: string }
  | { readonly code: string }
  /** The same in several languages, of which the reader chooses one. */
  | { readonly samples: readonly CodeSample[] }
  | { readonly json: unknown }
  | { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

export interface Chapter {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface GuideOptions {
  readonly limits: Limits;
  /** The base URL of the service, without a trailing slash. */
  readonly publicUrl: string;
  /** An example preview URL. */
  readonly previewUrl: string;
}

/** The chapters of the reference that apply to all operations. */
export function guide({ limits, publicUrl, previewUrl }: GuideOptions): readonly Chapter[] {
  return [
    start(publicUrl),
    authentication,
    requests(limits),
    sandboxes,
    liveCommands(limits),
    previews(publicUrl, previewUrl),
    snapshots(limits),
    errors,
    retries,
    limitsChapter(limits),
  ];
}

function start(publicUrl: string): Chapter {
  const call = (method: string, path: string, body = '') =>
    `curl -X ${method} ${publicUrl}/v1${path} \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"${body}`;
  const samples = (shell: string, typescript: string): Block => ({
    samples: [
      { lang: 'Shell', label: 'curl', source: shell },
      { lang: 'TypeScript', label: 'TypeScript', source: typescript },
    ],
  });
  return {
    id: 'start',
    title: 'Quick start',
    blocks: [
      { text: 'Create a sandbox. The call returns once it is ready to accept commands.' },
      samples(
        call('POST', '/sandboxes'),
        `${typescriptPrelude(publicUrl)}\nconst sandbox = await mayfly.sandboxes.create();`,
      ),
      { text: 'Run a command in it:' },
      samples(
        `# ID is the id of the response.\n${call('POST', '/sandboxes/$ID/exec', ` \\\n  -d '{"command": "uname -a"}'`)}`,
        "const { stdout } = await sandbox.exec('uname -a');\nconsole.log(stdout);",
      ),
      { text: 'Delete it:' },
      samples(call('DELETE', '/sandboxes/$ID'), 'await sandbox.delete();'),
      { text: 'The command line does all of this at once:' },
      { code: 'mayfly run "uname -a"' },
      {
        text: 'curl and the TypeScript client take the key from `MAYFLY_API_KEY`, the command line takes address and key from `mayfly login`; on the host of the service it needs none. The client is the package `@mayfly/sdk`; `packages/sdk/README.md` of the Mayfly repository says how to install it. In all samples below, `mayfly` is the client that was made above.',
      },
    ],
  };
}

const authentication: Chapter = {
  id: 'authentication',
  title: 'Authentication',
  blocks: [
    { text: 'Send an API key with every request:' },
    { code: 'Authorization: Bearer <API_KEY>' },
    {
      text: 'All keys of an account share its limits. A resource of another account is reported as `not_found`, the same as a resource that does not exist.',
    },
    {
      text: `Browsers cannot send this header with an EventSource or a WebSocket, and a key must not be part of a URL. Let your server get a ticket with \`POST /tickets\`, and pass it as \`?ticket=\` to an operation that has this parameter. A ticket works once, within ${fixedLimits.ticketSeconds} seconds. An EventSource that reconnects by itself sends the same ticket again and gets 401: open a new one with another ticket.`,
    },
  ],
};

function requests(limits: Limits): Chapter {
  return {
    id: 'requests',
    title: 'Requests and responses',
    blocks: [
      {
        text: 'Bodies are parsed as JSON regardless of the `Content-Type`. An empty body means `{}`, and `null` for an optional field means that it is absent. Unknown fields are ignored, except those reserved for features that this version does not have, which are refused with 400: `network`, `metadata`, `env` and `idle_pause_minutes` of a create, and the parameters `metadata[…]` of the list of sandboxes and `depth` of a file read. Lengths count Unicode code points. New fields may be added to responses.',
      },
      {
        text: 'Every response carries an `X-Request-Id` header: the one you sent if it has 1 to 128 visible ASCII characters, otherwise a generated one. Include it when you report a problem.',
      },
      {
        text: `Every response carries \`RateLimit-Limit\` (e.g. ${limits.requestsPerMinute}), \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds until the one-minute window resets), as they are when the response is sent. A 429 also carries \`Retry-After\` (seconds).`,
      },
      {
        text: 'To retry a create safely, send the same `Idempotency-Key` again. If the first create succeeded, its sandbox is returned with 200 and no second one is created. A failed create frees its key.',
      },
    ],
  };
}

const sandboxes: Chapter = {
  id: 'sandboxes',
  title: 'About sandboxes',
  blocks: [
    {
      head: ['size', 'vCPUs', 'memory', 'disk'],
      rows: sizeNames.map((name) => {
        const { vcpu, memoryGb, diskGb } = sizes[name];
        return [`\`${name}\``, `${vcpu}`, `${memoryGb} GB`, `${diskGb} GB`];
      }),
    },
    {
      text: `Commands run as an unprivileged user in \`${workspacePath}\`, which is also the base of relative paths. Outbound connections are allowed, except SMTP (ports 25, 465 and 587) and private networks. No inbound port is open; servers are reached through previews. Limits per user (soft / hard): processes 512 / 1024, open files 4096 / 8192, file size 4 GiB / 8 GiB.`,
    },
    {
      text: 'A sandbox is `provisioning`, then `running`. It ends as `deleted` (you deleted it or it expired) or `failed`, and never runs again; `status_reason` says why it ended, `ended_at` when. `deleting` means that the teardown of its machine continues in the background.',
    },
  ],
};

function liveCommands(limits: Limits): Chapter {
  return {
    id: 'live-commands',
    title: 'Live commands',
    blocks: [
      {
        text: 'With `"stream": true`, exec answers with the output while it is printed, as server-sent events (`text/event-stream`). With `"background": true` it answers at once with 202, and the command goes on until it ends, is killed, reaches the timeout that was given, or its sandbox ends. Both together stream a background command. Either way the execution is stored as usual, and a caller that disconnects does not end the command.',
      },
      {
        head: ['event', 'data', 'meaning'],
        rows: [
          ['`start`', '`{"id": "exec_…"}`', 'the first event: the execution'],
          [
            '`stdout`, `stderr`',
            '`{"data": "…"}`',
            'output in the order in which it was read; with `"encoding": "base64"` where the bytes are not UTF-8',
          ],
          ['`gap`', '`{"bytes": 4096}`', 'so much output is no longer there'],
          ['`exit`', 'the Execution', 'the last event'],
        ],
      },
      {
        text: `Every event has an \`id\`. To continue after an event, open \`GET /executions/{id}/stream\` with the header \`Last-Event-ID\`, which browsers send by themselves; without it, the stream starts from the beginning. The sandbox keeps the last ${formatBytes(fixedLimits.spoolBytes)} of a live command's output on its own disk, also while nobody reads. The streamed output is not limited; the stored \`stdout\` and \`stderr\` hold up to ${formatBytes(limits.captureBytes)} each.`,
      },
      {
        text: 'A stream that ends without `exit` is a lost connection, never a success: open it again. After `exit` it answers 204. Comments (lines that start with `:`) are sent every 15 seconds to keep silent streams open.',
      },
      {
        text: 'The standard input of a background command is open: write to it with `POST /executions/{id}/stdin` and close it with `"close": true`. With `"stdin": false` it is empty from the start, as for other commands; `"stdin": true` opens it for a streamed one. `POST /executions/{id}/kill` sends a signal to all processes of a command.',
      },
    ],
  };
}

function previews(publicUrl: string, previewUrl: string): Chapter {
  const trustingCurl = 'curl --cacert preview-root.crt';
  return {
    id: 'previews',
    title: 'Previews',
    blocks: [
      { text: 'An exposed port gets an https URL that contains an unguessable token:' },
      { code: previewUrl },
      {
        text: 'Anyone who has the URL can reach the port without an API key. When the preview is closed or the sandbox stops, the URL stops working and open connections are closed. HTTP/1.1, HTTP/2, WebSockets and server-sent events are supported.',
      },
      {
        text: 'The server in the sandbox sees `Host: localhost:PORT` and never the token. A preview returns 502 while nothing listens on the port, and 404 if it is unknown or closed.',
      },
      {
        text: `Unless the operator configured a certificate, the certificates of previews are issued by a private certificate authority of this service. Its root certificate is served at \`/preview-root.crt\` (no API key needed; 404 means that you need not install one) and stored as \`preview-authority/root.crt\` in the data folder. It is valid only for preview names. To make a client trust it:`,
      },
      { code: `curl -o preview-root.crt ${publicUrl}/preview-root.crt\n${trustingCurl} ${previewUrl}` },
      {
        text: 'Browsers: add it to the trusted authorities of the system or the browser. Node.js: `NODE_EXTRA_CA_CERTS=preview-root.crt`. Python: `SSL_CERT_FILE=preview-root.crt`, or `REQUESTS_CA_BUNDLE` for requests (both replace the default authorities). The steps for each are in `docs/previews.md` of the project.',
      },
      ...localhostHint(previewUrl, trustingCurl),
    ],
  };
}

/** Browsers and recent versions of curl resolve names under localhost themselves; other clients may not. */
function localhostHint(previewUrl: string, trustingCurl: string): readonly Block[] {
  const [, name, port = '443'] = /^https:\/\/([^/:]+\.localhost)(?::(\d+))?\//.exec(previewUrl) ?? [];
  if (name === undefined) return [];
  return [
    { text: 'If a client does not resolve names under `localhost`, give it the address:' },
    { code: `${trustingCurl} --resolve ${name}:${port}:127.0.0.1 ${previewUrl}` },
  ];
}

function snapshots(limits: Limits): Chapter {
  return {
    id: 'snapshots',
    title: 'Snapshots',
    blocks: [
      {
        text: 'A snapshot holds memory and disk of a running sandbox at one instant: processes, open files, local connections and all data. The sandbox goes on. A snapshot is `creating` until it is complete, then `ready`; `failed` means that its files are lost, and all that can be done with it is to delete it.',
      },
      {
        text: `Snapshots of one sandbox share what did not change between them. \`bytes\` is what a snapshot takes on disk; shared parts count for the oldest snapshot that has them. An account has at most ${limits.snapshots.toLocaleString('en-US')} snapshots, and takes no further one once they use ${formatBytes(limits.snapshotStorageMb * 1024 ** 2)}. Snapshots have no expiry: delete those that you do not need.`,
      },
      {
        text: 'A sandbox that is created with `snapshot_id`, or with `template` (an alias), is a running copy: the processes and files of the instant, with a host name, machine id, random numbers, clock, network, lifetime and price of its own. A fork makes several copies of a running sandbox at once. Commands that were running go on in a copy, but belong to no execution.',
      },
      {
        text: 'A rollback puts a running sandbox back into the state of a snapshot of its line: one of its own, or one of a sandbox that it was copied from, up to the instant of the copy. Id, lifetime, price and previews stay. Commands in flight fail, and open connections through previews are cut.',
      },
    ],
  };
}

const errors: Chapter = {
  id: 'errors',
  title: 'Errors',
  blocks: [
    {
      text: 'Every error has the same body. Branch on `error.type`, which is stable; the wording of `error.message` may change. The message of an `invalid_request` lists every failing rule, joined by `;`.',
    },
    { json: errorExample('not_found', 404) },
    {
      text: `Every operation can return ${commonErrors.map((type) => `\`${type}\``).join(', ')}; the other types are listed with their operations.`,
    },
    {
      head: ['status', 'error.type', 'cause', 'retry', 'what to do'],
      rows: errorTypes.map((type) => {
        const { statuses, cause, retry, retryByStatus = {}, hint }: ErrorEntry = errorTable[type];
        const others = Object.entries(retryByStatus).map(([status, category]) => `${status}: \`${category}\``);
        return [statuses.join(', '), `\`${type}\``, cause, [`\`${retry}\``, ...others].join('; '), hint];
      }),
    },
  ],
};

const retries: Chapter = {
  id: 'retries',
  title: 'Retrying',
  blocks: [
    {
      head: ['category', 'what the client should do'],
      rows: Object.entries(retryCategories).map(([category, strategy]) => [`\`${category}\``, strategy]),
    },
  ],
};

function limitsChapter(limits: Limits): Chapter {
  return {
    id: 'limits',
    title: 'Limits',
    blocks: [
      { text: 'The operator can change some of these limits for a single account.' },
      {
        head: ['limit', 'value', 'effect when exceeded'],
        rows: limitTable(limits).map(({ limit, value, effect }) => [limit, value, effect]),
      },
    ],
  };
}
