import type { DirectoryEntry, Sandbox, Stats } from '@mayfly/contract';
import { sandbox } from '../sample-data.ts';

// What the pictures of the documentation show: an ordinary account on an ordinary day.

const minuteMs = 60_000;

/** The sandbox that is shown from within. It has the id of one of the samples, whose page is answered for. */
const shown = { id: 'sbx_q2m7rk4t5x3vb6ynz7pahcdw', name: 'nightly build' } as const;

export const exampleSandboxes: readonly Sandbox[] = [
  sandbox({
    id: 'sbx_4w5pz2hq7m3kx6tn2ab7cdfe',
    name: 'pull request 1841',
    ageMs: 300,
    lifetimeMinutes: 15,
    status: 'provisioning',
  }),
  sandbox({
    id: 'sbx_h6k3vz5p2wq7mx4tnb3ycdrf',
    name: 'agent: fix flaky test',
    ageMs: 4 * minuteMs,
    lifetimeMinutes: 15,
  }),
  sandbox({ ...shown, size: 'large', ageMs: 14 * minuteMs, lifetimeMinutes: 120 }),
  sandbox({ id: 'sbx_b3ycdrfh6k3vz5p2wq7mx4tn', name: 'code interpreter', ageMs: 22 * minuteMs, lifetimeMinutes: 30 }),
  sandbox({
    id: 'sbx_m4t7xk2q5w3vb6ynz7pahcdr',
    name: 'notebook of Grace',
    size: 'medium',
    ageMs: 50 * minuteMs,
    lifetimeMinutes: 60,
  }),
  sandbox({
    id: 'sbx_z7pahcdwq2m7rk4t5x3vb6yn',
    name: 'docs preview',
    ageMs: 95 * minuteMs,
    lifetimeMinutes: 240,
  }),
  sandbox({
    id: 'sbx_x3vb6ynz7pahcdwq2m7rk4t5',
    name: 'load test',
    size: 'large',
    ageMs: 140 * minuteMs,
    lifetimeMinutes: 240,
    status: 'failed',
    reason: 'machine_died: killed by SIGKILL',
    endedAgoMs: 40 * minuteMs,
  }),
];

const gib = 1024 ** 3;
const count = 150;

/** A number from -1 to 1 that is the same in every picture. */
function noise(seed: number): number {
  return ((Math.abs(Math.sin(seed * 12.9898) * 43_758.5453) % 1) - 0.5) * 2;
}

/** A build: it downloads, compiles on all processors, then tests. */
export function exampleMeasurements(): readonly Stats[] {
  let [receivedBytes, sentBytes] = [0, 0];
  return Array.from({ length: count }, (_, index): Stats => {
    const [isDownload, isCompile] = [index > 18 && index < 42, index >= 42 && index < 96];
    const busy = isDownload ? 22 : isCompile ? 84 : index >= 96 ? 46 + 14 * Math.sin(index / 6) : 4;
    const download = isDownload ? 11e6 * Math.sin(((index - 18) / 24) * Math.PI) : 0;
    receivedBytes += Math.max(20_000, 2 * (download + 400_000 * noise(index + 500)));
    sentBytes += Math.max(8_000, download / 6 + 90_000 * noise(index + 900));
    return {
      object: 'stats',
      sandbox_id: shown.id,
      measured_at: new Date(Date.now() - (count - 1 - index) * 2_000).toISOString(),
      cpu: { count: 8, used_ms: index * 900, percent: Math.max(1, busy + noise(index) * 5) * 8 },
      memory: {
        total_bytes: 15.6 * gib,
        used_bytes: (1.1 + 6.4 / (1 + Math.exp((58 - index) / 9)) + noise(index + 77) * 0.06) * gib,
      },
      disk: { total_bytes: 157 * gib, used_bytes: (18 + 34 / (1 + Math.exp((50 - index) / 12))) * gib },
      network: { received_bytes: Math.round(receivedBytes), sent_bytes: Math.round(sentBytes) },
      processes: 63,
      uptime_ms: 14 * minuteMs,
    };
  });
}

const file = (name: string, size_bytes: number): DirectoryEntry => ({ name, type: 'file', size_bytes });
const dir = (name: string): DirectoryEntry => ({ name, type: 'dir', size_bytes: null });

const server = `import { createServer } from 'node:http';
import { render } from './render.ts';
import { findArticle, listArticles } from './articles.ts';

const port = Number(process.env.PORT ?? 3000);

/** Answers with an article, or with the list of all of them. */
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const article = pathname === '/' ? undefined : await findArticle(pathname.slice(1));
  if (pathname !== '/' && !article) {
    response.writeHead(404, { 'content-type': 'text/plain' });
    response.end('There is no such article.');
    return;
  }
  const page = article ? render(article) : render(await listArticles());
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(page);
});

server.listen(port, () => {
  console.log(\`Listening on port \${port}\`);
});
`;

export const exampleFolders: Readonly<Record<string, readonly DirectoryEntry[]>> = {
  '/': [dir('etc'), dir('home'), dir('workspace')],
  '/workspace': [
    dir('.git'),
    dir('build'),
    dir('src'),
    dir('test'),
    file('.gitignore', 41),
    file('package-lock.json', 98_304),
    file('package.json', 812),
    file('README.md', 2_310),
    file('tsconfig.json', 388),
  ],
  '/workspace/src': [
    dir('components'),
    file('articles.ts', 2_204),
    file('render.ts', 1_630),
    file('server.ts', server.length),
    file('style.css', 7_130),
  ],
};

export const exampleContents: Readonly<Record<string, string>> = { '/workspace/src/server.ts': server };

const esc = '\x1b';
const green = (text: string) => `${esc}[32m${text}${esc}[0m`;
const dim = (text: string) => `${esc}[2m${text}${esc}[0m`;
const prompt = `${esc}[1;32msandbox@nightly-build${esc}[0m:${esc}[1;34m/workspace${esc}[0m$ `;
const passed = (name: string, tests: number, ms: number) =>
  ` ${green('✓')} ${name} ${dim(`(${tests} tests)`)} ${green(`${ms}${dim('ms')}`)}`;

export const exampleScreens: Readonly<Record<string, string>> = {
  term_aaaa: [
    `${esc}]0;sandbox@nightly-build: /workspace${esc}\\${prompt}git log --oneline -2`,
    `${esc}[33m9f2c1ab${esc}[0m (${esc}[1;36mHEAD -> ${esc}[1;32mmain${esc}[0m, ${esc}[1;31morigin/main${esc}[0m) Render lists of articles`,
    `${esc}[33m41d07e6${esc}[0m Answer 404 for unknown articles`,
    `${prompt}npm test`,
    '',
    '> articles@2.4.0 test',
    '> vitest run',
    '',
    ` ${esc}[1;46;30m RUN ${esc}[0m ${esc}[36mv4.0.8 ${esc}[0m${dim('/workspace')}`,
    '',
    passed('test/articles.test.ts', 31, 412),
    passed('test/render.test.ts', 58, 903),
    passed('test/server.test.ts', 24, 1_288),
    passed('test/feed.test.ts', 12, 97),
    '',
    ` ${dim('Test Files')}  ${esc}[1;32m4 passed${esc}[0m ${dim('(4)')}`,
    `      ${dim('Tests')}  ${esc}[1;32m125 passed${esc}[0m ${dim('(125)')}`,
    `   ${dim('Duration')}  3.12s`,
    '',
    prompt,
  ].join('\r\n'),
  term_bbbb: `${esc}]0;node src/server.ts${esc}\\${prompt}node src/server.ts\r\nListening on port 3000\r\n`,
};
