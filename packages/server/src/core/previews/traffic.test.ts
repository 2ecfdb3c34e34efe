import { expect, test } from 'vitest';
import { PreviewTraffic } from './traffic.ts';

test('closing a port cuts what is open through it, and nothing else', () => {
  const traffic = new PreviewTraffic();
  const cut: string[] = [];
  const hold = (sandboxId: string, port: number) =>
    traffic.hold({ sandboxId, port }, () => cut.push(`${sandboxId}:${port}`));
  hold('a', 80);
  hold('a', 80);
  hold('a', 81);
  hold('b', 80);
  traffic.cut('a', 80);
  expect(cut).toEqual(['a:80', 'a:80']);
  traffic.cut('a');
  expect(cut).toEqual(['a:80', 'a:80', 'a:81']);
  expect(traffic.count).toBe(1);
});

test('what is over is neither counted nor cut', () => {
  const traffic = new PreviewTraffic();
  const target = { sandboxId: 'a', port: 80 };
  const leave = traffic.hold(target, () => expect.fail('it is over'));
  traffic.holdConnection(target, () => {});
  expect(traffic.countOf('a')).toBe(1);
  leave();
  leave();
  expect([traffic.countOf('a'), traffic.count]).toEqual([0, 0]);
  traffic.cut('a');
});

test('who was looking meanwhile can tell that something ended', () => {
  const traffic = new PreviewTraffic();
  const { cuts } = traffic;
  traffic.cut('nobody');
  expect(traffic.cuts).not.toBe(cuts);
});
