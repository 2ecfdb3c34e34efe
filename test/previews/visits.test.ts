import { usePreviewFixture } from '../support/previews/preview-fixture.ts';
import { describeConcurrency } from './suites/concurrency.ts';
import { describeEndings } from './suites/endings.ts';
import { describeIsolation } from './suites/isolation.ts';
import { describeSmuggling } from './suites/smuggling.ts';
import { describeStreaming } from './suites/streaming.ts';

// The suites share one sandbox, because starting it takes longest. The last suite kills its machine.
const fixture = usePreviewFixture();
describeStreaming(fixture);
describeIsolation(fixture);
describeSmuggling(fixture);
describeConcurrency(fixture);
describeEndings(fixture);
