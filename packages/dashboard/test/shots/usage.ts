import type { Shot } from './shot.ts';

export const usageShots: readonly Shot[] = [];
