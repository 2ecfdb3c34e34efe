import type { FakeArea } from './area.ts';

export const machineArea: FakeArea = {};
