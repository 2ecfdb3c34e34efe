import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const styleModule = fileURLToPath(new URL('src/terminal/adopted-style.ts', import.meta.url));
/** A style element that is created and inserted; the object that holds it stays. */
const insertedStyle = /[\w.$]+\.createElement\("style"\),[\w.$]+\.appendChild\([\w.$]+\)/g;
const styleElements = 3;
/** A style attribute, in which colours of single characters are added. */
const styleAttribute = /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g;
const styleProperty = '$1.style.cssText+=`$' + '{$2};`';
const styleAttributes = 1;

/**
 * Rewrites xterm.js, which inserts style elements and attributes that the content security policy forbids: elements become constructed style sheets, and
 * attributes become properties. Throws if they are not where they are expected, as they may be after an update.
 */
export function xtermStyles(): Plugin {
  return {
    name: 'xterm-styles',
    // Packages that are bundled before the development server starts are not transformed.
    config: () => ({ optimizeDeps: { exclude: ['@xterm/xterm'] } }),
    transform: {
      filter: { id: /@xterm\/xterm\/lib\/xterm\.mjs/ },
      handler(code) {
        const elements = code.match(insertedStyle)?.length ?? 0;
        const attributes = code.match(styleAttribute)?.length ?? 0;
        if (elements !== styleElements || attributes !== styleAttributes || code.split('"style"').length - 1 !== 5) {
          throw new Error(
            `xterm.js has other styles than expected: ${elements} elements and ${attributes} attributes.`,
          );
        }
        const rewritten = code
          .replace(insertedStyle, 'new MayflyAdoptedStyle()')
          .replace(styleAttribute, styleProperty);
        return {
          code: `import { AdoptedStyle as MayflyAdoptedStyle } from ${JSON.stringify(styleModule)};\n${rewritten}`,
          map: null,
        };
      },
    },
  };
}
