import * as contract from '@mayfly/contract/admin/keys.ts';
import type { FastifyInstance } from 'fastify';
import type { AccountsContext } from '../core/accounts/accounts-context.ts';
import { createKey, listKeys, revokeKey } from '../core/accounts/keys.ts';
import { serve } from './serve.ts';
import { keyView } from './views.ts';

/** An account's API keys: list, create, revoke. */
export function keyRoutes(app: FastifyInstance, core: AccountsContext): void {
  serve(app, contract.listKeys, async ({ params }) => ({
    object: 'list' as const,
    data: (await listKeys(core, params.email)).map(keyView),
  }));

  serve(app, contract.createKey, async ({ params }) => {
    const created = await createKey(core, params.email);
    return { ...keyView(created), api_key: created.apiKey };
  });

  serve(app, contract.revokeKey, async ({ params }) => keyView(await revokeKey(core, params.email, params.key)));
}
