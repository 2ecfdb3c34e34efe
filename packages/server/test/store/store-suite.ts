import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/core/ports/store/store.ts';
import { account } from './fixtures.ts';
import { describeAccounts } from './suite/accounts.ts';
import { describeAdvances } from './suite/advances.ts';
import { describeAudit } from './suite/audit.ts';
import { describeBalanceProperty } from './suite/balance-property.ts';
import { describeCharges } from './suite/charges.ts';
import { describeCreates } from './suite/creates.ts';
import { describeExecutions } from './suite/executions.ts';
import { describeLedger } from './suite/ledger.ts';
import { describePreviews } from './suite/previews.ts';
import { describeRetention } from './suite/retention.ts';
import { describeSandboxes } from './suite/sandboxes.ts';
import { describeSignIns } from './suite/sign-ins.ts';
import { describeSnapshots } from './suite/snapshots.ts';

/** The tests that every engine's store must pass. `open` returns an empty store each time. */
export function describeStore(engine: string, open: () => Promise<Store>): void {
  describe(`the store over ${engine}`, () => {
    let store: Store;
    const opened = (): Store => store;
    beforeEach(async () => {
      store = await open();
      await store.accounts.createFirst(account);
    });
    afterEach(() => store.close());

    describe('accounts', () => {
      describeAccounts(opened);
    });
    describe('creates', () => {
      describeCreates(opened);
    });
    describe('sandboxes', () => {
      describeSandboxes(opened);
    });
    describe('snapshots', () => {
      describeSnapshots(opened);
    });
    describe('advances', () => {
      describeAdvances(opened);
    });
    describe('charges', () => {
      describeCharges(opened);
    });
    describe('ledger', () => {
      describeLedger(opened);
    });
    describe('balances', () => {
      describeBalanceProperty(opened);
    });
    describe('audit trail', () => {
      describeAudit(opened);
    });

    describe('sign-ins', () => {
      describeSignIns(opened);
    });
    describe('previews', () => {
      describePreviews(opened);
    });
    describe('executions', () => {
      describeExecutions(opened);
    });
    describe('retention', () => {
      describeRetention(opened);
    });
  });
}
