import { type Account, Mayfly, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { showJson } from '../output.ts';
import { ask, canAsk } from '../prompt.ts';
import { failureOf } from '../service/client.ts';
import { readStdin } from '../service/read-input.ts';
import { examplesText, sentences } from '../service/service-command.ts';
import { checkProfileName, type Profiles, readProfiles, writeProfiles } from './profile-file.ts';

interface LoginOptions {
  readonly url?: string;
  readonly keyStdin?: true;
  readonly profile?: string;
  readonly json?: true;
}

const localUrl = 'http://127.0.0.1:8080';

/** `mayfly login` */
export function addLogin(program: Command, io: CliIo): void {
  program
    .command('login')
    .summary('save the address and API key of a service as a profile')
    .description(
      sentences(
        'save the address and API key of a service as a profile',
        'The key is tried before it is saved, in a file that only you can read. The profile becomes the current one.',
      ),
    )
    .option('--profile <name>', 'name of the profile (default: $MAYFLY_PROFILE, or the current one)')
    .option('--url <url>', 'address of the service (default: $MAYFLY_BASE_URL; asked for on a terminal)')
    .option('--key-stdin', 'read the key from standard input (default: $MAYFLY_API_KEY; asked for on a terminal)')
    .option('--json', 'print the result as JSON, errors included')
    .addHelpText(
      'after',
      examplesText(['mayfly login', 'mayfly login --url https://mayfly.example.com --key-stdin < key']),
    )
    .action((options: LoginOptions) => login(io, options));
}

async function login(io: CliIo, options: LoginOptions): Promise<void> {
  const { env, stdout } = io;
  const profiles = await readProfiles(env);
  const name = checkProfileName(options.profile ?? (env.MAYFLY_PROFILE || profiles.current));
  const url = await urlOf(io, options, profiles.byName.get(name)?.url);
  const key = await keyOf(io, options);
  const mayfly = clientWith(url, key);
  const account = await mayfly.account();
  const address = mayfly.baseUrl.replace(/\/v1$/, '');
  const saved: Profiles = { current: name, byName: new Map(profiles.byName).set(name, { url: address, api_key: key }) };
  await writeProfiles(env, saved);
  stdout.write(
    options.json ? showJson({ profile: name, url: address, account: toApi(account) }) : said(name, address, account),
  );
}

function said(name: string, url: string, { email }: Account): string {
  return `Logged in to ${url} as ${email}. Saved as profile ${name}.\n`;
}

async function urlOf(io: CliIo, { url }: LoginOptions, previous: string | undefined): Promise<string> {
  const given = url ?? (io.env.MAYFLY_BASE_URL || undefined);
  if (given !== undefined) return given;
  if (!canAsk(io)) throw usageFailure('There is no terminal to ask for the address of the service. Pass --url.');
  const proposed = previous ?? localUrl;
  return (await ask(io, `Address of the service [${proposed}]: `)) || proposed;
}

async function keyOf(io: CliIo, { keyStdin }: LoginOptions): Promise<string> {
  const key = await readKey(io, keyStdin);
  if (key === '') throw usageFailure('The API key is empty.');
  return key;
}

function clientWith(baseUrl: string, apiKey: string): Mayfly {
  try {
    return new Mayfly({ env: {}, baseUrl, apiKey, maxRetries: 0 });
  } catch (error) {
    throw failureOf(error, 2);
  }
}

async function readKey(io: CliIo, keyStdin: true | undefined): Promise<string> {
  if (keyStdin) return (await readStdin(io, '--key-stdin')).trim();
  if (io.env.MAYFLY_API_KEY) return io.env.MAYFLY_API_KEY;
  if (!canAsk(io)) {
    throw usageFailure('There is no terminal to ask for the API key. Pass --key-stdin, or set MAYFLY_API_KEY.');
  }
  return await ask(io, 'API key: ', { isSecret: true });
}
