import { z } from 'zod';

/** A moment as the interface writes it: ISO 8601 in UTC. */
export function timestamp(description: string, example: string) {
  return z.iso.datetime().meta({ description, examples: [example] });
}
