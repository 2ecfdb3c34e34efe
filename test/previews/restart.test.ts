import { expect, it, onTestFinished } from 'vitest';
import { call, createSandbox, exec } from '../support/api-requests.ts';
import { visitPreview } from '../support/conformance/http-client.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { freePort, newServiceData } from '../support/service-settings.ts';

it('a preview URL leads to the same server after the service was killed and restarted', async () => {
  const data = await newServiceData();
  const port = String(await freePort());
  const settings = { MAYFLY_PREVIEW_PORT: port, MAYFLY_PREVIEW_PUBLIC_PORT: port };
  let service: ServiceProcess = await startServiceProcess(data, settings);
  onTestFinished(async () => {
    await service.destroy();
    await data.remove();
  });
  const { id } = await createSandbox(service);
  await exec(service, id, 'echo still here > index.html; (python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &)');
  const opened = await call(service, 'POST', `/sandboxes/${id}/ports`, { port: 8000 });
  const { url } = (await opened.json()) as { readonly url: string };
  const shown = async () => (await visitPreview(url)).text.trim();
  await expect.poll(shown).toBe('still here');

  await service.kill();
  expect((await visitPreview(url)).status).toBe(599);
  service = await startServiceProcess(data, settings);
  expect(await shown()).toBe('still here');
});
