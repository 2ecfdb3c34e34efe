import { html } from './html.ts';

/** A mayfly: two wings over a long tail. */
export const logo = html`<svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true"><path d="M12 13.500C10.500 7.500 6.500 3.500 2 3c0 6 4 10.500 10 10.500Zm0 0C13.500 7.500 17.500 3.500 22 3c0 6-4 10.500-10 10.500Z" fill="currentColor"/><path d="M12 11v6m0 0c-.4 1.800-1.400 3.300-3 4.500m3-4.500c.4 1.800 1.400 3.300 3 4.500" fill="none" stroke="currentColor" stroke-width="1.500" stroke-linecap="round"/></svg>`;

/** The same for the tab of the browser. */
export const iconUrl = `data:image/svg+xml,${encodeURIComponent(
  logo.text.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" color="#5b5bd6" '),
)}`;
