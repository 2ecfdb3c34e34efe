/** Bounds of the dashboard and of signing in. They cannot be configured. */
export const dashboardLimits = Object.freeze({
  minPasswordCharacters: 12,
  maxPasswordCharacters: 256,
  emailCharacters: 254,
  keyNameCharacters: 100,
  userAgentCharacters: 200,
  /** A session that is not used for so long ends. */
  sessionIdleDays: 7,
  /** No session lasts longer than this. */
  sessionMaxDays: 30,
  /** Signed-in browsers of one account. One more ends the session that was used least recently. */
  sessionsPerAccount: 50,
  /** How long a sign-in link works that an operator asked for, or that the first start printed. */
  loginLinkHours: 24,
  inviteLinkDays: 7,
  /** After a sign-in with a link, a new password can be set without the current one for so long. */
  setPasswordMinutes: 15,
  recoveryCodes: 10,
  /** Failed attempts to sign in, in one window of `attemptWindowMinutes`. */
  failuresPerEmail: 10,
  failuresPerSource: 30,
  attemptWindowMinutes: 15,
  /** Requests below /app/api of one account in one minute, over all of its sessions. */
  requestsPerMinute: 600,
});
