import type { FirstAccount } from './bootstrap-account.ts';

/** Where previews are. */
export interface PreviewPlace {
  /** With `*` for the token, e.g. `https://*.localhost:8443/`. */
  readonly url: string;
  /** The root that clients must trust; undefined with a certificate of the operator's own. */
  readonly rootFile: string | undefined;
}

/** What the operator reads once the service is up: where it is, the first key, and something to paste. */
export function greeting(url: string, firstAccount: FirstAccount | undefined, previews?: PreviewPlace): string {
  const key = firstAccount?.generatedKey;
  const shownKey = key ?? '$MAYFLY_API_KEY';
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
  if (key !== undefined) lines.push(`  API key  ${key}   (shown only this once: keep it)`);
  lines.push(
    '',
    'Try it:',
    '',
    `  curl -s -X POST ${url}/v1/sandboxes -H "Authorization: Bearer ${shownKey}"`,
    `  curl -s -X POST ${url}/v1/sandboxes/SANDBOX_ID/exec -H "Authorization: Bearer ${shownKey}" \\`,
    `    -d '{"command": "uname -a"}'`,
    '',
    ...(previews === undefined ? [] : howToTrust(previews)),
    'More accounts and keys: npx mayfly admin --help. Ctrl-C stops it.',
    '',
    '',
  );
  return lines.join('\n');
}

function howToTrust({ url, rootFile }: PreviewPlace): readonly string[] {
  if (rootFile === undefined) return [];
  const example = url.replace('*', 'TOKEN');
  const [, name, port = '443'] = /^https:\/\/([^/:]+\.localhost)(?::(\d+))?\//.exec(example) ?? [];
  const unresolved = `Where *.localhost is not resolved, add: --resolve ${name}:${port}:127.0.0.1`;
  return [
    `The URLs of previews are signed by an authority of this machine. Trust ${rootFile}`,
    '(docs/previews.md says how in browsers and elsewhere), for example:',
    '',
    `  curl --cacert ${rootFile} ${example}`,
    '',
    ...(name === undefined ? [] : [unresolved, '']),
  ];
}
