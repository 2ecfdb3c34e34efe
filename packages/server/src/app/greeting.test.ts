import { expect, test } from 'vitest';
import { greeting } from './greeting.ts';

const url = 'http://127.0.0.1:8080';

test('it lists the URLs', () => {
  const text = greeting({ url, previews: { url: 'https://*.preview.example.com/', rootFile: undefined } });
  expect(text).toContain('  Dashboard  http://127.0.0.1:8080/\n');
  expect(text).toContain('  API        http://127.0.0.1:8080/v1\n');
  expect(text).toContain('  Docs       http://127.0.0.1:8080/docs\n');
  expect(text).toContain('  Previews   https://*.preview.example.com/\n');
});

test('the first API key is shown, and used in the commands to paste', () => {
  const text = greeting({ url, firstAccount: { email: 'ada@example.com' }, firstKey: { apiKey: 'mf_first' } });
  expect(text).toContain('  Account    ada@example.com\n  API key    mf_first ');
  expect(text).toContain('-H "Authorization: Bearer mf_first"');
  expect(greeting({ url })).toContain('-H "Authorization: Bearer $MAYFLY_API_KEY"');
});

test('a first API key that is in a file is not shown, but the commands to paste use it', () => {
  const text = greeting({ url, firstAccount: { email: 'ada@example.com' }, firstKey: { file: '/data/first-api-key' } });
  expect(text).toContain('  API key    in /data/first-api-key ');
  expect(text).toContain('-H "Authorization: Bearer $(cat /data/first-api-key)"');
});

test('the first sign-in is a link on a terminal, and a command that prints one elsewhere', () => {
  const link = 'http://127.0.0.1:8080/sign-in#link=token';
  expect(greeting({ url, firstSignIn: { link } })).toContain(`  Sign in    ${link}   (works once, within 24 hours)\n`);
  const command = 'npx mayfly admin accounts login-link --email a@localhost';
  expect(greeting({ url, firstSignIn: { command } })).toContain(`  Sign in    ${command} `);
  expect(greeting({ url })).not.toContain('Sign in');
});

test('it explains how to trust the root certificate, also for clients that do not resolve *.localhost', () => {
  const rootFile = '/var/lib/mayfly/preview-authority/root.crt';
  const text = greeting({ url, previews: { url: 'https://*.localhost:8443/', rootFile } });
  expect(text).toContain('  Previews   https://*.localhost:8443/\n');
  expect(text).toContain(`\n${rootFile} (docs/previews.md explains how)`);
  expect(text).toContain(`  curl --cacert ${rootFile} https://TOKEN.localhost:8443/\n`);
  expect(text).toContain('--resolve TOKEN.localhost:8443:127.0.0.1\n');
});

test('for a public preview domain there is no hint about name resolution', () => {
  const text = greeting({ url, previews: { url: 'https://*.preview.example.com/', rootFile: '/data/root.crt' } });
  expect(text).toContain('  curl --cacert /data/root.crt https://TOKEN.preview.example.com/\n');
  expect(text).not.toContain('--resolve');
});

test('with the operator’s certificate there is nothing to trust', () => {
  const text = greeting({ url, previews: { url: 'https://*.preview.example.com/', rootFile: undefined } });
  expect(text).not.toMatch(/trust|--cacert/i);
});
