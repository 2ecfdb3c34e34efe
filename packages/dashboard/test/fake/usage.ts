import type { FakeArea } from './area.ts';

export const usageArea: FakeArea = {};
