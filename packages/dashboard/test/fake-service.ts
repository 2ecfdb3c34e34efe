import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { type Answer, type FakeArea, type FakeRequest, type FakeState, refusal } from './fake/area.ts';
import { changesArea } from './fake/changes.ts';
import { listArea } from './fake/list.ts';
import { machineArea } from './fake/machine.ts';
import { terminalArea } from './fake/terminal.ts';
import { usageArea } from './fake/usage.ts';
import { account, keys, recoveryCodes, session, sessions } from './sample-data.ts';

const dist = join(import.meta.dirname, '../dist');
const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};
/** The policy of the service: what it forbids must not be needed for anything. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; frame-src https://*.preview.example.com; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

const areas: readonly FakeArea[] = [changesArea, listArea, machineArea, terminalArea, usageArea];

/** The built page over made-up answers, for looking at states that are hard to bring about. */
export async function startFakeService() {
  const state: FakeState = {
    session,
    keys,
    keyLimit: 10,
    hasSandboxes: true,
    sandboxCount: undefined,
    hasSnapshots: true,
    isExample: false,
    failures: new Map(),
    isDown: false,
  };
  const server = createServer((request, response) => {
    void (request.url?.startsWith('/app/api/') ? answerApi(state, request, response) : answerPage(request, response));
  });
  server.on('upgrade', (request, socket, head) => {
    if (!areas.some((area) => area.upgrade?.(request, socket, head, state))) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answerPage(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://fake');
  const file = pathname.startsWith('/assets/') ? pathname : '/index.html';
  const bytes = await readFile(join(dist, file)).catch(() => undefined);
  const type = contentTypes[extname(file)] ?? 'application/octet-stream';
  response.writeHead(bytes ? 200 : 404, { 'content-type': type, 'content-security-policy': policy }).end(bytes);
}

async function answerApi(state: FakeState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let sent = '';
  for await (const chunk of request.setEncoding('utf8')) sent += chunk;
  if (state.isDown) {
    response.destroy();
    return;
  }
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
  const operation = `${request.method} ${pathname.slice('/app/api'.length)}`;
  const failure = state.failures.get(operation);
  const asked: FakeRequest = { operation, parameters: searchParams, body: sent };
  if (!failure && areas.some((area) => area.respond?.(asked, response, state))) return;
  const answer = failure ? refusal(...failure) : (answerOfArea(asked, state) ?? answerTo(state, asked));
  const { status = 200, body } = answer;
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_5f0c9a4be1d27386c4a90b12' });
  response.end(JSON.stringify(body));
}

function answerOfArea(asked: FakeRequest, state: FakeState): Answer | undefined {
  if (!state.session) return undefined;
  for (const area of areas) {
    const answer = area.answer?.(asked, state);
    if (answer) return answer;
  }
  return undefined;
}

function answerTo(state: FakeState, { operation }: FakeRequest): Answer {
  const { session: current } = state;
  switch (operation) {
    case 'POST /session':
    case 'POST /session/link':
      state.session = {
        ...session,
        ...(operation.endsWith('link') && { has_password: false, may_set_password: true }),
      };
      return { status: 201, body: state.session };
    case 'DELETE /session':
      state.session = undefined;
      return { body: { object: 'session', deleted: true } };
  }
  if (!current) return refusal(401, 'unauthorized', 'There is no session. Sign in.');
  switch (operation) {
    case 'GET /session':
      return { body: current };
    case 'PUT /password':
      state.session = { ...current, has_password: true, may_set_password: false };
      return { body: state.session };
    case 'GET /account':
      return { body: account };
    case 'GET /sessions':
      return { body: { object: 'list', data: sessions } };
    case 'GET /keys': {
      const active = state.keys.filter(({ revoked_at }) => revoked_at === null).length;
      return { body: { object: 'list', data: state.keys, active, limit: state.keyLimit } };
    }
    case 'POST /keys':
      return {
        status: 201,
        body: { ...keys[0], name: 'CI of the web shop', key: 'mf_8f3kq2m7rk4t5x3vb6ynz7pahcdwh6k3vz5p2wq7' },
      };
    case 'POST /two-factor':
      return {
        body: {
          object: 'two_factor_setup',
          secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          uri: 'otpauth://totp/Mayfly:ada%40example.com?issuer=Mayfly&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30',
        },
      };
    case 'POST /two-factor/confirm':
      return { body: { object: 'two_factor', recovery_codes: recoveryCodes } };
    default:
      return refusal(404, 'not_found', 'There is nothing here.');
  }
}
