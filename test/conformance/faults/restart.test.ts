import type { Account, Execution, Port, Sandbox } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { isExternal } from '../../support/conformance/external-service.ts';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';
import { newServiceData } from '../../support/service-settings.ts';

describe('a service that is killed and restarted', () => {
  it('repeats no create and keeps sandboxes, records, previews and the balance', async (context) => {
    if (isExternal) context.skip('needs its own service');
    const data = await newServiceData();
    const services: ServiceProcess[] = [];
    const start = async (): Promise<Api> => {
      const service = await startServiceProcess(data);
      services.push(service);
      return new Api(service.baseUrl, service.key);
    };
    try {
      const before = await start();
      const repeat = { headers: { 'idempotency-key': 'once' } };
      const sandbox = await before.create({ name: 'kept' }, repeat);
      const execution = await before.exec(sandbox.id, 'echo kept | tee file');
      const port = expectStatus(await before.post<Port>(`/sandboxes/${sandbox.id}/ports`, { port: 8080 }), 201);
      const deleted = await before.create();
      await before.delete(`/sandboxes/${deleted.id}`);
      const { balance_usd } = expectStatus(await before.get<Account>('/account'), 200);
      const interrupted = before.post(`/sandboxes/${sandbox.id}/exec`, {
        command: 'touch on; sleep 200',
        timeout_ms: 300_000,
      });
      await before.output(sandbox.id, 'until [ -e on ]; do sleep 0.1; done');
      await Promise.all([services[0]?.kill(), expect(interrupted).rejects.toThrow()]);

      const after = await start();
      expect(expectStatus(await after.post<Sandbox>('/sandboxes', {}, repeat), 200)).toEqual(sandbox);
      expect(await after.output(sandbox.id, 'cat file')).toBe('kept');
      expect(expectStatus(await after.get<Execution>(`/executions/${execution.id}`), 200)).toEqual(execution);
      expect(expectStatus(await after.get(`/sandboxes/${sandbox.id}/ports`), 200)).toMatchObject({ data: [port] });
      expect((await after.sandbox(deleted.id)).status).toBe('deleted');
      const account = expectStatus(await after.get<Account>('/account'), 200);
      expect(account.balance_usd).toBeLessThanOrEqual(balance_usd);
      expect(account.balance_usd).toBeGreaterThan(balance_usd - 0.01);
      expectStatus(await after.delete(`/sandboxes/${sandbox.id}`), 200);
      expectError(await after.post(`/sandboxes/${sandbox.id}/exec`, { command: 'true' }), 404, 'not_found');
    } finally {
      await services.at(-1)?.destroy();
      await data.remove();
    }
  });
});
