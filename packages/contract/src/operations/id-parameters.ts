import { z } from 'zod';
import { executionId, sandboxId } from '../resources/ids.ts';

// An id that names nothing is not found, not invalid.

/** Path parameters of what concerns one sandbox. */
export const sandboxParameters = z.object({ id: sandboxId.describe('The id of the sandbox.') });

/** Path parameters of what concerns one execution. */
export const executionParameters = z.object({ id: executionId.describe('The id of the execution.') });
