import * as contract from '@mayfly/contract/admin/limits.ts';
import type { FastifyInstance } from 'fastify';
import type { AccountsContext } from '../core/accounts/accounts-context.ts';
import { getLimits, type LimitChanges, setLimits } from '../core/accounts/limits.ts';
import { serve } from './serve.ts';
import { limitsView } from './views.ts';

/** An account's limits: show, set. */
export function limitRoutes(app: FastifyInstance, core: AccountsContext): void {
  serve(app, contract.getLimits, async ({ params }) => limitsView(await getLimits(core, params.email)));

  serve(app, contract.setLimits, async ({ params, body }) =>
    limitsView(await setLimits(core, params.email, changesOf(body))),
  );
}

function changesOf(body: contract.SetLimitsBody): LimitChanges {
  return Object.fromEntries(
    contract.accountLimitFieldNames.map((field) => [contract.accountLimitFields[field], body[field]]),
  );
}
