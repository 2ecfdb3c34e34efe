import { type BalanceNeeds, balanceMicroUsd } from '../../core/money/balance.ts';
import { getUsage } from '../../core/money/usage.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import type { AccountViewNeeds } from '../views.ts';
import { accountView, usageView } from '../views.ts';

export type AccountRouteNeeds = BalanceNeeds & AccountViewNeeds;

/** /account and /usage: balance, limits and usage. */
export function accountRoutes(app: HttpApp, { core, operations }: HttpDeps<AccountRouteNeeds>): void {
  app.route({
    ...routeOf(operations.getUsage),
    handler: async (request) => usageView(await getUsage(core, accountOf(request), request.query.days)),
  });

  app.route({
    ...routeOf(operations.getAccount),
    handler: async (request) => {
      const account = accountOf(request);
      return accountView(account, await balanceMicroUsd(core, account), core);
    },
  });
}
