import type { Page } from 'playwright-core';
import { startFakeService } from '#dashboard-test/fake-service.ts';
import { launchBrowser } from '../../test/support/browser.ts';
import { alternate, median } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 7;
const stepsPerRound = 40;

/** Scrolls to and fro in the whole list, and returns how long it took until each step was on the screen. */
const scroll = `(async () => {
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const frames = [];
  let direction = 1;
  for (let step = 0; step < ${stepsPerRound}; step += 1) {
    const startedMs = performance.now();
    const fromPx = scrollY;
    scrollBy(0, direction * 700);
    await nextFrame();
    await nextFrame();
    frames.push(performance.now() - startedMs);
    if (scrollY === fromPx) direction = -direction;
  }
  return frames;
})()`;

async function openList(browser: Awaited<ReturnType<typeof launchBrowser>>, sandboxCount: number) {
  const service = await startFakeService();
  service.state.sandboxCount = sandboxCount;
  const page = await browser.open(`${service.url}/sandboxes`);
  await page.getByRole('row').nth(5).waitFor();
  return { service, page };
}

const frameMs = async (page: Page) => median(await page.evaluate<readonly number[]>(scroll));

/** A step of scrolling in a list of 1,000 sandboxes, compared with one of 30. In Chromium, with made-up answers. */
export async function dashboardRow(): Promise<Row> {
  const browser = await launchBrowser(undefined);
  const [long, short] = [await openList(browser, 1_000), await openList(browser, 30)];
  try {
    const medians = await alternate(
      rounds,
      () => frameMs(long.page),
      () => frameMs(short.page),
    );
    return { name: 'scroll 1,000 sandboxes', baseline: 'scroll 30', target: 1.3, ...medians };
  } finally {
    await browser.close();
    long.service[Symbol.dispose]();
    short.service[Symbol.dispose]();
  }
}
