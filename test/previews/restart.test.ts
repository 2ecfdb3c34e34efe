import { expect, it, onTestFinished } from 'vitest';
import { visit } from '../support/conformance/preview.ts';
import { freePort } from '../support/free-port.ts';
import { call, createSandbox, exec } from '../support/http.ts';
import { newServiceData } from '../support/service-data.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

it('a preview URL leads to the same server after the service was killed and started again', async () => {
  const data = await newServiceData();
  const port = String(await freePort());
  const settings = { MAYFLY_PREVIEW_PORT: port, MAYFLY_PREVIEW_PUBLIC_PORT: port };
  let service: ServiceProcess = await startServiceProcess(data, settings);
  onTestFinished(async () => {
    await service.end('SIGTERM');
    await data.remove();
  });
  const { id } = await createSandbox(service);
  await exec(service, id, 'echo still here > index.html; (python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &)');
  const opened = await call(service, 'POST', `/sandboxes/${id}/ports`, { port: 8000 });
  const { url } = (await opened.json()) as { readonly url: string };
  const shown = async () => (await visit(url)).text.trim();
  await expect.poll(shown, { timeout: 20_000 }).toBe('still here');

  await service.end('SIGKILL');
  expect((await visit(url)).status).toBe(599);
  service = await startServiceProcess(data, settings);
  expect(await shown()).toBe('still here');
}, 120_000);
