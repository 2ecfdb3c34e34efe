import { balanceMicroUsd } from '../core/money/funds.ts';
import { getUsage } from '../core/money/usage.ts';
import { accountOf } from './authentication.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { routeOf } from './route.ts';
import { accountView, usageView } from './views/account-view.ts';

/** /account and /usage: what the caller has, may do and has used. */
export function accountRoutes(app: HttpApp, { core, operations }: HttpDeps): void {
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
