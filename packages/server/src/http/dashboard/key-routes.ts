import {
  type ApiKey,
  type ApiKeyList,
  type CreatedApiKey,
  dashboardOperations,
  type RevokedApiKey,
} from '@mayfly/contract/dashboard';
import { createOwnKey, listOwnKeys, type OwnKeysNeeds, revokeOwnKey } from '../../core/accounts/api-keys.ts';
import type { ApiKeyRecord } from '../../core/ports/store/account-store.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { isoTime, isoTimeOrNull } from '../views.ts';
import { sessionOf } from './session-access.ts';

export type KeyRouteNeeds = OwnKeysNeeds;

/** /keys: the API keys of the account. */
export function keyRoutes(app: HttpApp, core: KeyRouteNeeds): void {
  app.route({
    ...routeOf(dashboardOperations.listApiKeys),
    handler: async (request): Promise<ApiKeyList> => {
      const { keys, limit } = await listOwnKeys(core, sessionOf(request).account);
      const active = keys.filter(({ revokedAtMs }) => revokedAtMs === null).length;
      return { object: 'list', data: keys.map(keyView), active, limit };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.createApiKey),
    handler: async (request, reply): Promise<CreatedApiKey> => {
      const { key, apiKey } = await createOwnKey(core, sessionOf(request).account, request.body.name);
      request.logged.subject_id = key.id;
      reply.code(201);
      return { ...keyView(key), key: apiKey };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.revokeApiKey),
    handler: async (request): Promise<RevokedApiKey> => {
      const { id } = request.params;
      request.logged.subject_id = id;
      const revokedAtMs = await revokeOwnKey(core, sessionOf(request).account, id);
      return { object: 'api_key', id, revoked_at: isoTime(revokedAtMs) };
    },
  });
}

function keyView({ id, name, prefix, createdAtMs, lastUsedAtMs, revokedAtMs }: ApiKeyRecord): ApiKey {
  return {
    object: 'api_key',
    id,
    name,
    prefix,
    created_at: isoTime(createdAtMs),
    last_used_at: isoTimeOrNull(lastUsedAtMs),
    revoked_at: isoTimeOrNull(revokedAtMs),
  };
}
