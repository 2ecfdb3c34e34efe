import { beforeAll, describe, expect, it } from 'vitest';
import { exec, output } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { useSharedSandbox } from './shared-sandbox.ts';

const shared = useSharedSandbox();

function run(command: string): Promise<string> {
  return output(shared.service, shared.sandbox.id, command);
}

/** Installs a package from a wheel, which pip only unpacks. */
const wheel = `info=greet-1.0.dist-info && mkdir $info && touch $info/RECORD &&
printf '%s\\n' 'Metadata-Version: 2.1' 'Name: greet' 'Version: 1.0' > $info/METADATA &&
printf '%s\\n' 'Wheel-Version: 1.0' 'Root-Is-Purelib: true' 'Tag: py3-none-any' > $info/WHEEL &&
zip -qr greet-1.0-py3-none-any.whl greet $info && pip install --no-index ./greet-1.0-py3-none-any.whl`;

/** Installs it from its sources, with setuptools. */
const sources = `printf '%s\\n' '[build-system]' 'requires = ["setuptools"]' 'build-backend = "setuptools.build_meta"' '[project]' 'name = "greet"' 'version = "1.0"' '[tool.setuptools]' 'packages = ["greet"]' > pyproject.toml &&
pip install --no-build-isolation --no-index .`;

/** What the tests below do not use anyway. */
const versions = [
  ['bash', 'bash --version'],
  ['coreutils', 'ls --version'],
  ['curl', 'curl --version'],
  ['wget', 'wget --version'],
  ['git', 'git --version'],
  ['python3', 'python3 --version'],
  ['venv', 'python3 -m venv --help'],
  ['node', 'node --version'],
  ['g++', 'g++ --version'],
  ['jq', 'jq --version'],
  ['ripgrep', 'rg --version'],
  ['sqlite3', 'sqlite3 --version'],
  ['zip', 'zip --version'],
  ['unzip', 'unzip -v'],
  ['rsync', 'rsync --version'],
  ['vim', 'vim --version'],
  ['nano', 'nano --version'],
  ['htop', 'htop --version'],
  ['less', 'less --version'],
  ['procps', 'ps --version'],
  ['iproute2', 'ip -V'],
  ['ssh', 'ssh -V'],
] as const;

/** The exit code of each, by name. One command runs them all, because in an emulated guest a command of its own takes longer than most of them. */
async function runVersions(): Promise<ReadonlyMap<string, number>> {
  const check = 'check() { local name=$1; shift; "$@" >/dev/null 2>&1; echo "$name $?"; }';
  const script = [check, ...versions.map(([name, command]) => `check ${name} ${command}`)].join('\n');
  const { stdout } = await exec(shared.service, shared.sandbox.id, script, { timeout_ms: 600_000 });
  const lines = stdout.trim().split('\n');
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

describe('the image', () => {
  let exitCodes: ReadonlyMap<string, number>;
  beforeAll(async () => {
    exitCodes = await runVersions();
  });

  it.each(versions)('has %s', (name) => {
    expect(exitCodes.get(name)).toBe(0);
  });

  it('has certificates and a UTF-8 locale', async () => {
    const count = 'grep -c BEGIN /etc/ssl/certs/ca-certificates.crt';
    const shown = await run(`${count} && locale charmap && python3 -c "print(len('ä€😀'))"`);
    const [certificates, charmap, characters] = shown.split('\n');
    expect(Number(certificates)).toBeGreaterThan(50);
    expect([charmap, characters]).toEqual(['UTF-8', '3']);
  });

  it('compiles and runs C with make', async () => {
    const source = `'#include <stdio.h>' 'int main(void){puts("from c");return 0;}'`;
    const compiled = `mkdir -p c && cd c && printf '%s\\n' ${source} > hello.c && make -s hello && ./hello`;
    expect(await run(compiled)).toBe('from c');
  });

  it('installs a local Python package with plain pip', async () => {
    await run(
      `mkdir -p pkg/greet && cd pkg && echo 'def hi(): return "from pip"' > greet/__init__.py && ${length(wheel, sources)}`,
    );
    expect(await run('cd / && python3 -c "import greet; print(greet.hi())"')).toBe('from pip');
  });

  it('installs a local npm folder, into a project and globally', async () => {
    await run(`mkdir -p tool app && cd tool && echo '{"name":"tool","version":"1.0.0","bin":{"my-tool":"cli.js"}}' > package.json &&
printf '%s\\n' '#!/usr/bin/env node' 'console.log("from npm")' > cli.js && chmod +x cli.js && cd ../app && echo '{"name":"app","version":"1.0.0"}' > package.json`);
    // One npm does both, as two installs would: first it installs the folder globally, then into the project. What it compiled is of no use afterwards.
    await run('cd app && NODE_DISABLE_COMPILE_CACHE=1 npm link --save --offline --no-audit --no-fund ../tool');
    const both =
      'command -v my-tool && my-tool && app/node_modules/.bin/my-tool && jq -r .dependencies.tool app/package.json';
    expect(await run(both)).toBe('/home/sandbox/.npm-global/bin/my-tool\nfrom npm\nfrom npm\nfile:../tool');
  });
});

describe('the user in the sandbox', () => {
  it('is named sandbox, has uid 1000 and a home directory, and owns /workspace', async () => {
    expect(await run('id -un; id -u; echo ~; pwd; stat -c %U /workspace')).toBe(
      'sandbox\n1000\n/home/sandbox\n/workspace\nsandbox',
    );
  });

  it('has no way to become root', async () => {
    expect(await run('find / -xdev -type f -perm /6000 2>/dev/null | wc -l')).toBe('0');
    expect(await run("awk '/^(NoNewPrivs|CapEff)/ {print $2}' /proc/self/status")).toBe('0000000000000000\n1');
    expect(
      (await exec(shared.service, shared.sandbox.id, 'sudo -n true || su -c true < /dev/null')).exit_code,
    ).not.toBe(0);
    expect(
      (await exec(shared.service, shared.sandbox.id, 'cat /dev/vport*; head -c1 /dev/vda; cat /etc/shadow')).stdout,
    ).toBe('');
  });

  it('has the resource limits of the specification', async () => {
    const limits = await run('ulimit -Sn; ulimit -Hn; ulimit -Su; ulimit -Hu; ulimit -Sf; ulimit -Hf');
    expect(limits.split('\n')).toEqual(['4096', '8192', '512', '1024', String(4 * 1024 ** 2), String(8 * 1024 ** 2)]);
  });
});
