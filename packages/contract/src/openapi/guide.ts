import { type ErrorEntry, errorTable, errorTypes } from '../errors/error-table.ts';
import { retryCategories } from '../errors/retry-categories.ts';
import { type Limits, workspacePath } from '../limits.ts';
import { commonErrors } from '../operations/operation.ts';
import { sizeNames, sizes } from '../sizes.ts';
import { errorExample } from './error-responses.ts';
import { limitTable } from './limit-table.ts';

/** Something to read; backquotes mark what is typed. */
export type Block =
  | { readonly text: string }
  | { readonly code: string }
  | { readonly json: unknown }
  | { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

export interface Chapter {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface GuideOptions {
  readonly limits: Limits;
  /** Where callers reach the service, without a slash at the end. */
  readonly publicUrl: string;
  /** What the URL of a preview looks like. */
  readonly previewUrl: string;
}

/** What holds for all operations, in chapters. */
export function guide({ limits, publicUrl, previewUrl }: GuideOptions): readonly Chapter[] {
  return [
    start(publicUrl),
    authentication,
    requests(limits),
    sandboxes,
    previews(publicUrl, previewUrl),
    errors,
    retries,
    limitsChapter(limits),
  ];
}

function start(publicUrl: string): Chapter {
  const call = (method: string, path: string, body = '') =>
    `curl -X ${method} ${publicUrl}/v1${path} \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"${body}`;
  return {
    id: 'start',
    title: 'First steps',
    blocks: [
      { text: 'One call gives you a virtual machine of your own; it answers once the machine takes commands.' },
      { code: call('POST', '/sandboxes') },
      { text: 'Run a command in it, with the `id` of the answer:' },
      { code: call('POST', '/sandboxes/$ID/exec', ` \\\n  -d '{"command": "uname -a"}'`) },
      { text: 'And throw it away:' },
      { code: call('DELETE', '/sandboxes/$ID') },
    ],
  };
}

const authentication: Chapter = {
  id: 'authentication',
  title: 'Authentication',
  blocks: [
    { text: 'Every request carries an API key in a header:' },
    { code: 'Authorization: Bearer <API_KEY>' },
    {
      text: 'All keys of an account share its limits. What belongs to another account is reported as `not_found`, the same as what does not exist.',
    },
  ],
};

function requests(limits: Limits): Chapter {
  return {
    id: 'requests',
    title: 'Requests and answers',
    blocks: [
      {
        text: 'Bodies are JSON, whatever the `Content-Type`. An empty body is `{}`, unknown fields are ignored, and `null` for an optional field means that it is left out. Lengths count Unicode code points. Answers may gain fields.',
      },
      {
        text: 'Every answer has an `X-Request-Id`: yours if you sent one of 1 to 128 visible ASCII characters, else a fresh one. Mention it when you report a problem.',
      },
      {
        text: `Every answer says where you stand: \`RateLimit-Limit\` (e.g. ${limits.requestsPerMinute}), \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds until the window of one minute starts anew). A 429 also has \`Retry-After\` in seconds.`,
      },
      {
        text: 'To retry a create safely, send the same `Idempotency-Key` again: if the first one succeeded, its sandbox is returned with 200 and no second one is made. A create that failed frees its key.',
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
      text: `Commands run as an unprivileged user in \`${workspacePath}\`, which is also where relative paths start. Outbound connections work, except SMTP (ports 25, 465 and 587) and private networks; inbound there is nothing but previews. The user may have 512 processes (at most 1024), 4096 open files (at most 8192) and files of 4 GiB (at most 8 GiB).`,
    },
    {
      text: 'A sandbox is `provisioning`, then `running`; it ends `deleted` (by you or because it expired) or `failed`, and never runs again. `status_reason` says why. `deleting` means that its machine takes a while to go.',
    },
  ],
};

function previews(publicUrl: string, previewUrl: string): Chapter {
  const trusting = 'curl --cacert preview-root.crt';
  return {
    id: 'previews',
    title: 'Previews',
    blocks: [
      { text: 'Exposing a port gives it an https URL with an unguessable token:' },
      { code: previewUrl },
      {
        text: 'Whoever has the URL reaches the port, without a key. It stops working, and open connections are cut, when the preview is closed or the sandbox stops. HTTP/1.1, HTTP/2, WebSockets and event streams pass.',
      },
      {
        text: 'The server in the sandbox sees `Host: localhost:PORT`, and never the token. While nothing listens on the port, a preview answers 502; one that is unknown or closed answers 404.',
      },
      {
        text: `Unless the operator brought a certificate of their own, previews are signed by an authority of this service. Its root is \`preview-root.crt\` here (no key is needed; 404 means that there is nothing to trust) and \`preview-authority/root.crt\` in the data folder. It can vouch for nothing but previews. Let the client trust it:`,
      },
      { code: `curl -o preview-root.crt ${publicUrl}/preview-root.crt\n${trusting} ${previewUrl}` },
      {
        text: 'Browsers: add it to the authorities of the system or the browser. Node: `NODE_EXTRA_CA_CERTS=preview-root.crt`. Python: `SSL_CERT_FILE=preview-root.crt`, or `REQUESTS_CA_BUNDLE` for requests (both replace the usual authorities). `docs/previews.md` of the project has the steps for each.',
      },
      ...unresolved(previewUrl, trusting),
    ],
  };
}

/** Names under localhost are looked up by browsers and recent curl themselves, but not by every client. */
function unresolved(previewUrl: string, trusting: string): readonly Block[] {
  const [, name, port = '443'] = /^https:\/\/([^/:]+\.localhost)(?::(\d+))?\//.exec(previewUrl) ?? [];
  if (name === undefined) return [];
  return [
    { text: 'For a client that does not resolve names under `localhost`, name the address:' },
    { code: `${trusting} --resolve ${name}:${port}:127.0.0.1 ${previewUrl}` },
  ];
}

const errors: Chapter = {
  id: 'errors',
  title: 'Errors',
  blocks: [
    {
      text: 'Every error has the same body. Branch on `error.type`, which is stable; `error.message` is for people and may change. A message about an invalid request names every failing rule, joined by `;`.',
    },
    { json: errorExample('not_found', 404) },
    {
      text: `Every call can answer ${commonErrors.map((type) => `\`${type}\``).join(', ')}; the others stand with their operations.`,
    },
    {
      head: ['status', 'error.type', 'cause', 'retry', 'what to do'],
      rows: errorTypes.map((type) => {
        const { statuses, cause, retry, hint }: ErrorEntry = errorTable[type];
        return [statuses.join(', '), `\`${type}\``, cause, `\`${retry}\``, hint];
      }),
    },
  ],
};

const retries: Chapter = {
  id: 'retries',
  title: 'Retrying',
  blocks: [
    {
      head: ['category', 'what it asks of a client'],
      rows: Object.entries(retryCategories).map(([category, strategy]) => [`\`${category}\``, strategy]),
    },
  ],
};

function limitsChapter(limits: Limits): Chapter {
  return {
    id: 'limits',
    title: 'Limits',
    blocks: [
      { text: 'An operator may set some of these differently for your account.' },
      {
        head: ['limit', 'value', 'beyond it'],
        rows: limitTable(limits).map(({ limit, value, beyond }) => [limit, value, beyond]),
      },
    ],
  };
}
