/** Languages that the editor highlights. */
export type Language =
  | 'c'
  | 'css'
  | 'diff'
  | 'dockerfile'
  | 'go'
  | 'html'
  | 'java'
  | 'javascript'
  | 'json'
  | 'jsx'
  | 'lua'
  | 'markdown'
  | 'perl'
  | 'properties'
  | 'python'
  | 'ruby'
  | 'rust'
  | 'shell'
  | 'sql'
  | 'toml'
  | 'tsx'
  | 'typescript'
  | 'xml'
  | 'yaml';

const extensions: Readonly<Record<Language, string>> = {
  c: 'c h cc cpp cxx hpp hh ino',
  css: 'css scss less',
  diff: 'diff patch',
  dockerfile: 'dockerfile containerfile',
  go: 'go',
  html: 'html htm vue svelte',
  java: 'java kt kts scala cs',
  javascript: 'js mjs cjs',
  json: 'json json5 jsonl ndjson map webmanifest ipynb',
  jsx: 'jsx',
  lua: 'lua',
  markdown: 'md markdown mdx',
  perl: 'pl pm',
  properties: 'properties ini cfg conf env editorconfig gitconfig npmrc service',
  python: 'py pyi pyw',
  ruby: 'rb rake gemspec',
  rust: 'rs',
  shell: 'sh bash zsh ksh bashrc profile bash_profile zshrc bash_aliases',
  sql: 'sql',
  toml: 'toml',
  tsx: 'tsx',
  typescript: 'ts mts cts',
  xml: 'xml svg xsl plist',
  yaml: 'yaml yml',
};

/** Whole names, in lower case. */
const names = new Map<string, Language>(
  Object.entries({
    dockerfile: 'dockerfile',
    containerfile: 'dockerfile',
    gemfile: 'ruby',
    rakefile: 'ruby',
    vagrantfile: 'ruby',
    'cargo.lock': 'toml',
    'poetry.lock': 'toml',
    'uv.lock': 'toml',
  } as const),
);

const byExtension = new Map(
  Object.entries(extensions).flatMap(([language, list]) => list.split(' ').map((one) => [one, language as Language])),
);

const interpreters: readonly (readonly [RegExp, Language])[] = [
  [/\bpython[\d.]*\b/, 'python'],
  [/\b(?:node|deno|bun)\b/, 'javascript'],
  [/\bruby\b/, 'ruby'],
  [/\bperl\b/, 'perl'],
  [/\b(?:ba|z|k|da)?sh\b/, 'shell'],
];

/** The language of a file by its name, or by the interpreter in its first line. Undefined for plain text. */
export function languageOf(name: string, firstLine = ''): Language | undefined {
  const lower = name.toLowerCase();
  const whole = names.get(lower) ?? (lower.startsWith('dockerfile.') ? 'dockerfile' : undefined);
  const extension = lower.includes('.') ? lower.slice(lower.lastIndexOf('.') + 1) : '';
  const known = whole ?? byExtension.get(extension);
  if (known !== undefined || !firstLine.startsWith('#!')) return known;
  return interpreters.find(([pattern]) => pattern.test(firstLine))?.[1];
}

const imageTypes = new Map(
  Object.entries({
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
    bmp: 'image/bmp',
    ico: 'image/x-icon',
    svg: 'image/svg+xml',
  }),
);

/** The media type of an image that browsers show; undefined for other files. */
export function imageTypeOf(name: string): string | undefined {
  return imageTypes.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase());
}
