import type { Page } from 'playwright-core';
import type { FakeState } from '../fake/area.ts';

/** A state of the page that is looked at. */
export interface Shot {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (state: FakeState) => void;
  readonly act?: (page: Page, state: FakeState) => Promise<void>;
}
