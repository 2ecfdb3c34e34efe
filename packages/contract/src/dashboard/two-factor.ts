import { z } from 'zod';
import { dashboardOperation } from './operation.ts';
import { codeField, objectBody } from './sessions.ts';

/** A new secret for an authenticator app. It counts only once it is confirmed with a code. */
const twoFactorSetupSchema = z.object({
  object: z.literal('two_factor_setup'),
  /** Base32, for typing. */
  secret: z.string(),
  /** An otpauth:// URI, for a QR code. */
  uri: z.string(),
});

export type TwoFactorSetup = z.infer<typeof twoFactorSetupSchema>;

/** Recovery codes, shown only here. Each can be used once in place of a code. */
const enabledTwoFactorSchema = z.object({ object: z.literal('two_factor'), recovery_codes: z.array(z.string()) });

export type EnabledTwoFactor = z.infer<typeof enabledTwoFactorSchema>;

const deletedTwoFactorSchema = z.object({ object: z.literal('two_factor'), deleted: z.literal(true) });

export const startTwoFactor = dashboardOperation({
  id: 'startTwoFactor',
  method: 'POST',
  path: '/two-factor',
  summary: 'Start to set up two-factor authentication',
  responses: { 200: twoFactorSetupSchema },
  errors: ['two_factor_enabled'],
});

export const confirmTwoFactor = dashboardOperation({
  id: 'confirmTwoFactor',
  method: 'POST',
  path: '/two-factor/confirm',
  summary: 'Enable two-factor authentication with a first code',
  body: objectBody({ code: codeField }),
  responses: { 200: enabledTwoFactorSchema },
  errors: ['invalid_request', 'wrong_code', 'two_factor_enabled', 'two_factor_disabled'],
});

export const disableTwoFactor = dashboardOperation({
  id: 'disableTwoFactor',
  method: 'DELETE',
  path: '/two-factor',
  summary: 'Disable two-factor authentication',
  body: objectBody({ code: codeField }),
  responses: { 200: deletedTwoFactorSchema },
  errors: ['invalid_request', 'wrong_code', 'two_factor_disabled'],
});
