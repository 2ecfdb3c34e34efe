import { setTimeout as delay } from 'node:timers/promises';
import { FakeFiles } from './files.ts';

export interface ShellRun {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly files: FakeFiles;
  /** Aborts when the command's time is over or its machine is gone. */
  readonly signal: AbortSignal;
}

export interface ShellOutput {
  stdout: string;
  stderr: string;
}

/**
 * A command line of the few words that tests need: true, false, exit N, echo (with >&2 or > FILE), sleep S, cat FILE, pwd;
 * joined by `;` and `&&`. Writes into `output` as it goes and answers with the exit code; rejects when the signal aborts it.
 */
export async function runShell(command: string, run: ShellRun, output: ShellOutput): Promise<number> {
  let exitCode = 0;
  for (const part of command.split(/(;|&&)/)) {
    if (part === ';' || part.trim() === '') continue;
    if (part === '&&') {
      if (exitCode !== 0) return exitCode;
      continue;
    }
    const words = split(part, run.env);
    if (words[0] === 'exit') return Number(words[1] ?? exitCode) & 255;
    exitCode = await runWord(words, run, output);
  }
  return exitCode;
}

async function runWord(words: readonly string[], run: ShellRun, output: ShellOutput): Promise<number> {
  const [name = '', ...rest] = words;
  switch (name) {
    case 'true':
      return 0;
    case 'false':
      return 1;
    case 'pwd':
      output.stdout += `${run.cwd}\n`;
      return 0;
    case 'sleep':
      await delay(Number(rest[0]) * 1_000, undefined, { signal: run.signal });
      return 0;
    case 'echo':
      return echo(rest, run, output);
    case 'cat':
      return cat(rest[0] ?? '', run, output);
    default:
      output.stderr += `bash: ${name}: command not found\n`;
      return 127;
  }
}

function echo(words: readonly string[], run: ShellRun, output: ShellOutput): number {
  const toFile = words.indexOf('>');
  const target = toFile < 0 ? undefined : words[toFile + 1];
  const text = `${words.filter((word, at) => word !== '>&2' && (toFile < 0 || at < toFile)).join(' ')}\n`;
  if (target !== undefined) run.files.write(FakeFiles.resolve(target, run.cwd), Buffer.from(text));
  else if (words.includes('>&2')) output.stderr += text;
  else output.stdout += text;
  return 0;
}

function cat(name: string, run: ShellRun, output: ShellOutput): number {
  const content = run.files.read(FakeFiles.resolve(name, run.cwd));
  if (content === undefined) output.stderr += `cat: ${name}: No such file or directory\n`;
  else output.stdout += content.toString();
  return content === undefined ? 1 : 0;
}

function split(part: string, env: Readonly<Record<string, string>>): string[] {
  const words: string[] = [];
  for (const [whole, single, double] of part.matchAll(/'([^']*)'|"([^"]*)"|\S+/g)) {
    const text = single ?? double ?? whole;
    words.push(single === undefined ? text.replaceAll(/\$(\w+)/g, (_, name: string) => env[name] ?? '') : text);
  }
  return words;
}
