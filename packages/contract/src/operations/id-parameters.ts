import { z } from 'zod';

/** Path parameters of everything that concerns one thing by its id. An id that names nothing is not found, not invalid. */
export const idParameters = z.object({ id: z.string() });
