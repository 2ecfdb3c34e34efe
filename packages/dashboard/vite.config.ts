import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, transformWithOxc } from 'vite';
import { readFileSync } from 'node:fs';

/** The oldest browsers with `light-dark()`, which the style uses as it is. */
const browsers = ['chrome123', 'edge123', 'firefox128', 'safari17.5'];

export default defineConfig({
  root: import.meta.dirname,
  // The style is minified with everything else; a pass of its own would also rewrite `light-dark()` for older browsers.
  plugins: [react(), tailwindcss({ optimize: false }), firstPaint()],
  server: { proxy: { '/app/api': 'http://127.0.0.1:8080', '/docs': 'http://127.0.0.1:8080' } },
  build: { target: browsers, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 300 },
});

/** Emits src/theme/first-paint.ts as a file of its own, which the page waits for. Modules run after the first paint, and inline scripts are forbidden. */
function firstPaint(): Plugin {
  const path = new URL('src/theme/first-paint.ts', import.meta.url).pathname;
  let reference = '';
  return {
    name: 'first-paint',
    apply: 'build',
    async buildStart() {
      this.addWatchFile(path);
      const { code } = await transformWithOxc(readFileSync(path, 'utf8'), path, {});
      reference = this.emitFile({ type: 'asset', name: 'first-paint.js', source: code });
    },
    transformIndexHtml: {
      order: 'post',
      handler: () => [
        { tag: 'script', attrs: { src: `/${this.getFileName(reference)}` }, injectTo: 'head-prepend' },
      ],
    },
  };
}
