import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call, createSandbox, exec } from '../support/api-requests.ts';
import { Random } from '../support/chaos/random.ts';
import { chaosSeed } from '../support/chaos/run-chaos.ts';
import { length } from '../support/length.ts';
import { receiveToTheEnd, startInBackground } from '../support/live-commands.ts';
import { RestartableService } from '../support/restartable-service.ts';

it('a build that prints for a long time is complete and in order through a restart of the service', async () => {
  const service = await RestartableService.create({ MAYFLY_POOL: 'none' });
  try {
    const { id: sandboxId } = await createSandbox(service);
    const seconds = length(8, 60);
    const { id } = await startInBackground(
      service,
      sandboxId,
      `n=0; end=$((SECONDS+${seconds})); while [ $SECONDS -lt $end ]; do n=$((n+1)); echo line $n; [ $((n%10)) = 0 ] && echo warning $n >&2; sleep 0.02; done; echo $n lines`,
    );
    const receiving = receiveToTheEnd(service, id);
    await pause((seconds * 1_000) / 4);
    await service.detach();
    await service.start();
    const received = await receiving;
    expect(received.connections).toBeGreaterThan(1);
    expect(received.lostBytes).toBe(0);
    const count = Number(/^(\d+) lines$/m.exec(received.text('stdout'))?.[1]);
    const numbers = [...received.text('stdout').matchAll(/^line (\d+)$/gm)].map(([, n]) => Number(n));
    expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n + 1));
    const warnings = [...received.text('stderr').matchAll(/^warning (\d+)$/gm)].map(([, n]) => Number(n));
    expect(warnings).toEqual(numbers.filter((n) => n % 10 === 0));
    expect(received.exit).toMatchObject({ status: 'completed', exit_code: 0, stdout: received.text('stdout') });
    console.log(`${count} lines over ${received.connections} connections`);
  } finally {
    await service.remove();
  }
});

it('kills of either process at random moments with ten streams open: every client gets every byte once', async () => {
  const service = await RestartableService.create({ MAYFLY_POOL: 'none' });
  const random = new Random(chaosSeed());
  try {
    const { id: sandboxId } = await createSandbox(service);
    const rounds = length(3, 12);
    const commands = await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        startInBackground(
          service,
          sandboxId,
          `i=0; until [ -e stop ]; do i=$((i+1)); echo ${n}:$i; sleep 0.05; done; echo end`,
        ),
      ),
    );
    const readers = commands.flatMap(({ id }) => [receiveToTheEnd(service, id), receiveToTheEnd(service, id)]);
    for (let round = 0; round < rounds; round += 1) {
      await pause(random.between(200, 1_500));
      const side = (['service', 'host', 'both'] as const)[round % 3] ?? 'both';
      await service.killAndRecover(side);
    }
    await exec(service, sandboxId, 'touch stop');
    for (const [index, received] of (await Promise.all(readers)).entries()) {
      const n = Math.floor(index / 2);
      const lines = received.text().trimEnd().split('\n');
      expect(lines.pop()).toBe('end');
      expect(lines).toEqual(Array.from({ length: lines.length }, (_, i) => `${n}:${i + 1}`));
      expect(received.lostBytes).toBe(0);
      expect(received.exit).toMatchObject({ status: 'completed', stdout: received.text() });
    }
    const path = `/sandboxes/${sandboxId}/executions?status=running`;
    expect(((await (await call(service, 'GET', path)).json()) as { data: unknown[] }).data).toEqual([]);
  } finally {
    await service.remove();
  }
});
