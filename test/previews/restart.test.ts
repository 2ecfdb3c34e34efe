import { expect, it, onTestFinished } from 'vitest';
import { createSandbox } from '../support/api-requests.ts';
import { visitPreview } from '../support/conformance/http-client.ts';
import { servePage } from '../support/previews/served-page.ts';
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
  const { url, shown } = await servePage(service, id, 'still here');

  await service.kill();
  expect((await visitPreview(url)).status).toBe(599);
  service = await startServiceProcess(data, settings);
  expect(await shown()).toBe('still here');
});
