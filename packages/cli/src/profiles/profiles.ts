import type { Command } from 'commander';
import { type CliIo, Failure } from '../cli-io.ts';
import { type Column, list, screenOf, showJson } from '../output.ts';
import { addGroup, sentences } from '../service/service-command.ts';
import { type Profiles, readProfiles, writeProfiles } from './profile-file.ts';

interface JsonOption {
  readonly json?: true;
}

/** `mayfly profiles …` and `mayfly logout` */
export function addProfiles(program: Command, io: CliIo): void {
  const { env, stdout } = io;
  const print = ({ json }: JsonOption, result: unknown, text: string) =>
    void stdout.write(json ? showJson(result) : text);
  const add = (parent: Command, name: string, summary: string, isDefault = false) =>
    parent
      .command(name, { isDefault })
      .summary(summary)
      .description(sentences(summary))
      .option('--json', 'print the result as JSON, errors included');

  const group = addGroup(program, 'profiles', 'list the services that you are logged in to, and choose one');

  add(group, 'ls', 'list the profiles', true).action(async (options: JsonOption) => {
    const profiles = await readProfiles(env);
    print(options, withoutKeys(profiles), showProfiles(profiles, io));
  });

  add(group, 'use', 'make a profile the current one')
    .argument('<name>', 'name of the profile')
    .action(async (name: string, options: JsonOption) => {
      const { byName } = await readProfiles(env);
      const profile = byName.get(name);
      if (profile === undefined) throw noProfile(name);
      await writeProfiles(env, { current: name, byName });
      print(options, { current: name, url: profile.url }, `The current profile is ${name} (${profile.url}).\n`);
    });

  add(program, 'logout', 'remove a profile and its API key from this machine')
    .option('--profile <name>', 'name of the profile (default: $MAYFLY_PROFILE, or the current one)')
    .action(async (options: JsonOption & { readonly profile?: string }) => {
      const { current, byName } = await readProfiles(env);
      const name = options.profile ?? (env.MAYFLY_PROFILE || current);
      const rest = new Map(byName);
      if (!rest.delete(name)) throw noProfile(name);
      await writeProfiles(env, { current, byName: rest });
      print(options, { profile: name, deleted: true }, `Profile ${name} was removed. Its API key still works.\n`);
    });
}

function noProfile(name: string): Failure {
  const message = `There is no profile ${JSON.stringify(name)}. List them with: mayfly profiles`;
  return new Failure(message, { type: 'not_found' });
}

function withoutKeys({ current, byName }: Profiles): unknown {
  return { current, profiles: [...byName].map(([name, { url }]) => ({ name, url })) };
}

function showProfiles({ current, byName }: Profiles, io: CliIo): string {
  const columns: readonly Column<readonly [string, { readonly url: string }]>[] = [
    { heading: 'PROFILE', value: ([name]) => name },
    { heading: 'URL', value: ([, { url }]) => url },
    { heading: 'CURRENT', value: ([name]) => (name === current ? 'yes' : '') },
  ];
  return list([...byName], columns, screenOf(io));
}
