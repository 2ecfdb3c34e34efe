import type { Shot } from './shot.ts';

export const terminalShots: readonly Shot[] = [];
