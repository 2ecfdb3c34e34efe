import { z } from 'zod';
import { fitsCodePoints, integerField, optionalBody } from '../fields.ts';
import { limits, workspacePath } from '../limits.ts';

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const commandError = `command must be a string of 1 to ${limits.commandCharacters} characters`;

/** A string that can reach a process: processes know no NUL. */
function withoutNul<Field extends z.ZodString>(name: string, field: Field) {
  return field.refine((text) => !text.includes('\0'), { error: `${name} must not contain NUL characters` });
}

const environment = z
  .record(z.string(), z.unknown(), { error: 'env must be an object of strings' })
  .check((context) => {
    for (const [name, value] of Object.entries(context.value)) {
      const fail = (message: string) => context.issues.push({ code: 'custom', input: value, path: [name], message });
      const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
      if (!variableName.test(name)) fail(`env name ${JSON.stringify(shown)} is not a valid variable name`);
      if (typeof value !== 'string') fail(`env value of ${JSON.stringify(shown)} must be a string`);
      else if (value.includes('\0')) fail(`env value of ${JSON.stringify(shown)} must not contain NUL characters`);
    }
  })
  .transform((env) => env as Record<string, string>);

/** Body of POST /sandboxes/{id}/exec, with defaults filled in. */
export const runCommandBody = optionalBody({
  command: withoutNul('command', z.string({ error: commandError })).refine(
    (command) => command !== '' && fitsCodePoints(command, limits.commandCharacters),
    { error: commandError },
  ),
  timeout_ms: integerField('timeout_ms', limits.minCommandTimeoutMs, limits.maxCommandTimeoutMs)
    .nullish()
    .transform((timeoutMs) => timeoutMs ?? limits.defaultCommandTimeoutMs),
  cwd: withoutNul('cwd', z.string({ error: 'cwd must be a string' }))
    .nullish()
    .transform((cwd) => cwd ?? workspacePath),
  env: environment.nullish().transform((env) => env ?? {}),
});

export type RunCommandBody = z.output<typeof runCommandBody>;
