import { describe, expect, it } from 'vitest';
import { exec, output } from '../support/api-requests.ts';
import { useSharedSandbox } from './shared-sandbox.ts';

const shared = useSharedSandbox();

function run(command: string): Promise<string> {
  return output(shared.service, shared.sandbox.id, command);
}

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

describe('the image', () => {
  it.each(versions)('has %s', async (_, command) => {
    expect((await exec(shared.service, shared.sandbox.id, command, { timeout_ms: 60_000 })).exit_code).toBe(0);
  });

  it('has certificates and a UTF-8 locale', async () => {
    expect(Number(await run('grep -c BEGIN /etc/ssl/certs/ca-certificates.crt'))).toBeGreaterThan(50);
    expect(await run('locale charmap')).toBe('UTF-8');
    expect(await run('python3 -c "print(len(\'ä€😀\'))"')).toBe('3');
  });

  it('compiles and runs C with make', async () => {
    await run(
      `mkdir -p c && cd c && printf '%s\\n' '#include <stdio.h>' 'int main(void){puts("from c");return 0;}' > hello.c && make -s hello`,
    );
    expect(await run('./c/hello')).toBe('from c');
  });

  it('installs a local Python package with plain pip', async () => {
    await run(`mkdir -p pkg/greet && cd pkg && echo 'def hi(): return "from pip"' > greet/__init__.py &&
printf '%s\\n' '[build-system]' 'requires = ["setuptools"]' 'build-backend = "setuptools.build_meta"' '[project]' 'name = "greet"' 'version = "1.0"' '[tool.setuptools]' 'packages = ["greet"]' > pyproject.toml &&
pip install --no-build-isolation --no-index .`);
    expect(await run('cd / && python3 -c "import greet; print(greet.hi())"')).toBe('from pip');
  });

  it('installs a local npm folder, into a project and globally', async () => {
    await run(`mkdir -p tool app && cd tool && echo '{"name":"tool","version":"1.0.0","bin":{"my-tool":"cli.js"}}' > package.json &&
printf '%s\\n' '#!/usr/bin/env node' 'console.log("from npm")' > cli.js && chmod +x cli.js &&
cd ../app && echo '{"name":"app","version":"1.0.0"}' > package.json && npm install --offline --no-audit --no-fund ../tool && node_modules/.bin/my-tool`);
    await run('npm install --offline --no-audit --no-fund -g ./tool');
    expect(await run('my-tool')).toBe('from npm');
  });
});

describe('the user in the sandbox', () => {
  it('is named sandbox, has uid 1000 and a home directory, and owns /workspace', async () => {
    expect(await run('id -un; id -u; echo ~; pwd; stat -c %U /workspace')).toBe(
      'sandbox\n1000\n/home/sandbox\n/workspace\nsandbox',
    );
  });

  it('has no way to become root', async () => {
    expect(await run('find / -xdev -perm /6000 -type f 2>/dev/null | wc -l')).toBe('0');
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
