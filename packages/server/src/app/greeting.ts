import type { FirstAccount } from './bootstrap-account.ts';

/** What the operator reads once the service is up: where it is, the first key, and something to paste. */
export function greeting(url: string, firstAccount: FirstAccount | undefined): string {
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
    'More accounts and keys: npx mayfly admin --help. Ctrl-C stops it.',
    '',
    '',
  );
  return lines.join('\n');
}
