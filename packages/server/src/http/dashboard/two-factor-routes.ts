import { dashboardOperations, type EnabledTwoFactor, type TwoFactorSetup } from '@mayfly/contract/dashboard';
import { enableTwoFactor, endTwoFactor } from '../../core/sign-in/credentials.ts';
import type { SignInNeeds } from '../../core/sign-in/sign-in.ts';
import { startTwoFactor } from '../../core/sign-in/two-factor.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { sessionOf } from './session-access.ts';

/** /two-factor: codes of an authenticator app at sign-in. */
export function twoFactorRoutes(app: HttpApp, core: SignInNeeds): void {
  app.route({
    ...routeOf(dashboardOperations.startTwoFactor),
    handler: async (request): Promise<TwoFactorSetup> => ({
      object: 'two_factor_setup',
      ...(await startTwoFactor(core, sessionOf(request).account)),
    }),
  });

  app.route({
    ...routeOf(dashboardOperations.confirmTwoFactor),
    handler: async (request): Promise<EnabledTwoFactor> => {
      const codes = await enableTwoFactor(core, sessionOf(request), request.body.code, request.source);
      return { object: 'two_factor', recovery_codes: [...codes] };
    },
  });

  app.route({
    ...routeOf(dashboardOperations.disableTwoFactor),
    handler: async (request) => {
      await endTwoFactor(core, sessionOf(request), request.body.code, request.source);
      return { object: 'two_factor' as const, deleted: true as const };
    },
  });
}
