import { expect, test } from 'vitest';
import { PreviewTraffic } from './preview-traffic.ts';

test('closing a port disconnects what is open through it, and nothing else', () => {
  const traffic = new PreviewTraffic();
  const disconnected: string[] = [];
  const track = (sandboxId: string, port: number) =>
    traffic.track({ sandboxId, port }, () => disconnected.push(`${sandboxId}:${port}`));
  track('a', 80);
  track('a', 80);
  track('a', 81);
  track('b', 80);
  traffic.disconnect('a', 80);
  expect(disconnected).toEqual(['a:80', 'a:80']);
  traffic.disconnect('a');
  expect(disconnected).toEqual(['a:80', 'a:80', 'a:81']);
  expect(traffic.count).toBe(1);
});

test('a request that has ended is neither counted nor disconnected', () => {
  const traffic = new PreviewTraffic();
  const target = { sandboxId: 'a', port: 80 };
  const end = traffic.track(target, () => expect.fail('it has ended'));
  traffic.trackConnection(target, () => {});
  expect(traffic.countOf('a')).toBe(1);
  end();
  end();
  expect([traffic.countOf('a'), traffic.count]).toEqual([0, 0]);
  traffic.disconnect('a');
});

test('a lookup can tell that a preview was closed meanwhile', () => {
  const traffic = new PreviewTraffic();
  const { disconnects } = traffic;
  traffic.disconnect('nobody');
  expect(traffic.disconnects).not.toBe(disconnects);
});
