import { dashboardLimits } from '@mayfly/contract/dashboard';
import type { FirstAccount } from './bootstrap-account.ts';

/** What the greeting says about previews. */
interface PreviewAddress {
  /** With `*` for the token, e.g. `https://*.localhost:8443/`. */
  readonly url: string;
  /** The root certificate that clients must trust; undefined with the operator's certificate. */
  readonly rootFile: string | undefined;
}

/** The first API key: on a terminal the key itself, otherwise the file that holds it, so that it ends up in no log. */
export type ShownKey = { readonly apiKey: string } | { readonly file: string };

/** How somebody signs in for the first time: on a terminal a link, otherwise the command that prints one, so that it ends up in no log. */
export type FirstSignIn = { readonly link: string } | { readonly command: string };

export interface GreetingFacts {
  /** Of the API, without a trailing slash. */
  readonly url: string;
  /** Only on the very first start. */
  readonly firstAccount?: Pick<FirstAccount, 'email'> | undefined;
  /** Only if the first start generated a key. */
  readonly firstKey?: ShownKey | undefined;
  /** Only on the very first start, unless the operator set a password. */
  readonly firstSignIn?: FirstSignIn | undefined;
  readonly previews?: PreviewAddress | undefined;
}

/** The text that the operator reads when the service is ready: its URLs, the first API key, and commands to paste. */
export function greeting({ url, firstAccount, firstKey, firstSignIn, previews }: GreetingFacts): string {
  const authorization = `-H "Authorization: Bearer ${bearerOf(firstKey)}"`;
  const lines = [
    '',
    'Mayfly is ready.',
    '',
    `  Dashboard  ${url}/`,
    `  API        ${url}/v1`,
    `  Docs       ${url}/docs`,
    `  Health     ${url}/healthz`,
  ];
  if (previews !== undefined) lines.push(`  Previews   ${previews.url}`);
  if (firstAccount !== undefined) lines.push(`  Account    ${firstAccount.email}`);
  if (firstKey !== undefined) lines.push(`  API key    ${keyLine(firstKey)}`);
  if (firstSignIn !== undefined) lines.push(`  Sign in    ${signInLine(firstSignIn)}`);
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

function bearerOf(key: ShownKey | undefined): string {
  if (key === undefined) return '$MAYFLY_API_KEY';
  return 'file' in key ? `$(cat ${key.file})` : key.apiKey;
}

function keyLine(key: ShownKey): string {
  return 'file' in key
    ? `in ${key.file}   (only root can read it; save the key, then delete the file)`
    : `${key.apiKey}   (shown only this once, save it now)`;
}

function signInLine(signIn: FirstSignIn): string {
  return 'command' in signIn
    ? `${signIn.command}   (prints a link that works once)`
    : `${signIn.link}   (works once, within ${dashboardLimits.loginLinkHours} hours)`;
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
