import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, transformWithOxc } from 'vite';
import { xtermStyles } from './xterm-styles.ts';

/** The oldest browsers with `light-dark()`, which the style uses as it is. */
const browsers = ['chrome123', 'edge123', 'firefox128', 'safari17.5'];

export default defineConfig({
  root: import.meta.dirname,
  // The style is minified with everything else; a pass of its own would also rewrite `light-dark()` for older browsers.
  plugins: [react(), tailwindcss({ optimize: false }), firstPaint(), xtermStyles()],
  server: { proxy: { '/app/api': 'http://127.0.0.1:8080', '/docs': 'http://127.0.0.1:8080' } },
  build: { target: browsers, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 500 },
});

/** Emits src/theme/first-paint.ts as a file of its own, which the page waits for. Modules run after the first paint, and inline scripts are forbidden. */
function firstPaint(): Plugin {
  const path = fileURLToPath(new URL('src/theme/first-paint.ts', import.meta.url));
  const name = 'first-paint.js';
  return {
    name: 'first-paint',
    apply: 'build',
    async buildStart() {
      const { code } = await transformWithOxc(readFileSync(path, 'utf8'), path);
      this.emitFile({ type: 'asset', name, source: code });
    },
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) => {
        const file = Object.values(bundle).find((one) => one.type === 'asset' && one.names.includes(name));
        if (!file) throw new Error(`${name} was not emitted.`);
        return [{ tag: 'script', attrs: { src: `/${file.fileName}` }, injectTo: 'head-prepend' }];
      },
    },
  };
}
