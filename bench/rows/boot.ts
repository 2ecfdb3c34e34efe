import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';

/** What a cold boot of the same machine took when its template was built, to compare a create with. */
export const bootRow = (stage: Stage, createSmall: Row): Row => ({
  name: 'cold boot small (template)',
  measuredMs: stage.host.templates.small.manifest.bootMs,
  yardstick: createSmall.name,
  yardstickMs: createSmall.measuredMs,
});
