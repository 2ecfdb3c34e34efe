import type { FakeArea } from './area.ts';

export const terminalArea: FakeArea = {};
