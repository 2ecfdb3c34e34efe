import type { Shot } from './shot.ts';

export const machineShots: readonly Shot[] = [];
