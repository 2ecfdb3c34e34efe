import { dashboardLimits } from '@mayfly/contract/dashboard';

const { minPasswordCharacters, maxPasswordCharacters } = dashboardLimits;

export const passwordHint = `At least ${minPasswordCharacters} characters. A few words in a row are easy to remember.`;

/** Returns what keeps a text from being the new password of an account; undefined if nothing does. The service has the last word. */
export function passwordProblem(password: string, email: string): string | undefined {
  const characters = Array.from(password).length;
  if (characters < minPasswordCharacters) {
    const missing = minPasswordCharacters - characters;
    return `At least ${minPasswordCharacters} characters: ${missing} more ${missing === 1 ? 'is' : 'are'} needed.`;
  }
  if (characters > maxPasswordCharacters) return `At most ${maxPasswordCharacters} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return 'Choose something other than your e-mail address.';
  return undefined;
}
