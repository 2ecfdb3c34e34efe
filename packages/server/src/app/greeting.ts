import type { FirstAccount } from './bootstrap-account.ts';

/** What the greeting says about previews. */
export interface PreviewAddress {
  /** With `*` for the token, e.g. `https://*.localhost:8443/`. */
  readonly url: string;
  /** The root certificate that clients must trust; undefined with the operator's certificate. */
  readonly rootFile: string | undefined;
}

/** The text that the operator reads when the service is ready: its URLs, the first API key, and commands to paste. */
export function greeting(url: string, firstAccount: FirstAccount | undefined, previews?: PreviewAddress): string {
  const key = firstAccount?.generatedKey;
  const authorization = `-H "Authorization: Bearer ${key ?? '$MAYFLY_API_KEY'}"`;
  const lines = [
    '',
    'Mayfly is ready.',
    '',
    `  API      ${url}/v1`,
    `  Docs     ${url}/docs`,
    `  Health   ${url}/healthz`,
  ];
  if (previews !== undefined) lines.push(`  Previews ${previews.url}`);
  if (firstAccount !== undefined) lines.push(`  Account  ${firstAccount.email}`);
  if (key !== undefined) lines.push(`  API key  ${key}   (shown only this once, save it now)`);
  lines.push(
    '',
    'Create a sandbox and run a command in it:',
    '',
    `  ID=$(curl -s -X POST ${url}/v1/sandboxes ${authorization} | grep -o 'sbx_[A-Za-z0-9_-]*')`,
    `  curl -s -X POST ${url}/v1/sandboxes/$ID/exec ${authorization} -d '{"command": "uname -a"}'`,
    '',
    ...(previews === undefined ? [] : howToTrust(previews)),
    'To manage accounts and keys: npx mayfly admin --help',
    'To stop: Ctrl-C. Running sandboxes stay alive.',
    '',
    '',
  );
  return lines.join('\n');
}

function howToTrust({ url, rootFile }: PreviewAddress): readonly string[] {
  if (rootFile === undefined) return [];
  const example = url.replace('*', 'TOKEN');
  const [, name, port = '443'] = /^https:\/\/([^/:]+\.localhost)(?::(\d+))?\//.exec(example) ?? [];
  const resolveHint = `If your client does not resolve *.localhost, add: --resolve ${name}:${port}:127.0.0.1`;
  return [
    'Preview certificates are signed by a local authority of this machine. Clients must trust its root certificate',
    `${rootFile} (docs/previews.md explains how), for example:`,
    '',
    `  curl --cacert ${rootFile} ${example}`,
    '',
    ...(name === undefined ? [] : [resolveHint, '']),
  ];
}
