import { expect } from 'vitest';
import { call, exec, type Target } from '../api-requests.ts';
import { visitPreview } from '../conformance/http-client.ts';

/** A page that a server in a sandbox shows through a preview. */
export interface ServedPage {
  readonly url: string;
  /** What a visitor sees now. */
  readonly shown: () => Promise<string>;
}

/** Starts a server in a sandbox that shows this text, opens a preview of it and waits until it is shown. */
export async function servePage(target: Target, sandboxId: string, text: string): Promise<ServedPage> {
  const server = '(python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &)';
  await exec(target, sandboxId, `echo ${text} > index.html; ${server}`);
  const opened = await call(target, 'POST', `/sandboxes/${sandboxId}/ports`, { port: 8000 });
  const { url } = (await opened.json()) as { readonly url: string };
  const shown = async () => (await visitPreview(url)).text.trim();
  await expect.poll(shown).toBe(text);
  return { url, shown };
}
