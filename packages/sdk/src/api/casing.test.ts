import { expect, test } from 'vitest';
import { fromApi, toApi } from './casing.ts';

test('names become camel case and times become dates, and both turn back', () => {
  const json = {
    object: 'sandbox',
    memory_gb: 4,
    created_at: '2026-01-02T03:04:05.678Z',
    deleted_at: null,
    data: [{ status_reason: 'x_y', nested: { vcpu: 2 } }],
  };
  const seen = fromApi(json);
  expect(seen).toEqual({
    object: 'sandbox',
    memoryGb: 4,
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    deletedAt: null,
    data: [{ statusReason: 'x_y', nested: { vcpu: 2 } }],
  });
  expect(toApi(seen)).toEqual(json);
});
