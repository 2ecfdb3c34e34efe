import type { CommandNode, OptionWord, Word } from './command-tree.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The completion script of each shell. All of them find the command that the words before the cursor name, and then offer what can follow it. */
export const scripts: Readonly<Record<Shell, (nodes: readonly CommandNode[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function bashScript(nodes: readonly CommandNode[]): string {
  const cases = nodes.map(
    ({ path, commands, values, options }) =>
      `    ${quoted(path)}) words=${quoted([...commands, ...values, ...options].map(({ text }) => text).join(' '))} ;;`,
  );
  const optionValues = choicesOf(nodes).map(
    ({ text, choices }) => `    ${text}) words=${quoted(choices.join(' '))} ;;`,
  );
  const anyValue = textsOf(nodes, ({ takesValue, choices }) => takesValue && choices.length === 0);
  return `# Completion of mayfly for bash.
_mayfly() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${pathsOf(nodes).map(quoted).join(' | ')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  case "$previous" in
${optionValues.join('\n')}
    ${anyValue.join(' | ')}) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _mayfly mayfly
`;
}

function zshScript(nodes: readonly CommandNode[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ text, meaning }) => quoted(`${text}:${meaning}`)).join(' ');
  const cases = nodes.map(
    ({ path, commands, values, options }) =>
      `    ${quoted(path)}) commands=(${described([...commands, ...values])}) options=(${described(options)}) ;;`,
  );
  const optionValues = choicesOf(nodes).map(
    ({ text, choices }) => `    ${text}) compadd ${choices.join(' ')}; return ;;`,
  );
  const anyValue = textsOf(nodes, ({ takesValue, choices }) => takesValue && choices.length === 0);
  return `#compdef mayfly
# Completion of mayfly for zsh.
_mayfly() {
  local at='' word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      ${pathsOf(nodes).map(quoted).join(' | ')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  case "\${words[CURRENT-1]}" in
${optionValues.join('\n')}
    ${anyValue.join(' | ')}) _files; return ;;
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o option options
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
if [ "$funcstack[1]" = "_mayfly" ]; then _mayfly "$@"; else compdef _mayfly mayfly; fi
`;
}

function fishScript(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, commands, values, options }) => {
    const condition = `complete -c mayfly -n ${fishQuoted(`__mayfly_at ${fishQuoted(path)}`)}`;
    return [
      ...[...commands, ...values].map(({ text, meaning }) => `${condition} -f -a ${text} -d ${fishQuoted(meaning)}`),
      ...options.map(({ text, meaning, takesValue, choices }) => {
        const value = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(' '))}` : takesValue ? ' -r' : '';
        return `${condition} -l ${text.slice(2)}${value} -d ${fishQuoted(meaning)}`;
      }),
    ];
  });
  return `# Completion of mayfly for fish.
function __mayfly_at
  set -l at ''
  set -l typed (commandline -opc)
  set -e typed[1]
  for word in $typed
    switch "$at $word"
      case ${pathsOf(nodes).map(fishQuoted).join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function pathsOf(nodes: readonly CommandNode[]): string[] {
  return nodes.map(({ path }) => path).filter((path) => path !== '');
}

/** The options of all commands that have a list of values, each once. */
function choicesOf(nodes: readonly CommandNode[]): OptionWord[] {
  const options = nodes.flatMap((node) => node.options).filter(({ choices }) => choices.length > 0);
  return [...new Map(options.map((option) => [option.text, option])).values()];
}

function textsOf(nodes: readonly CommandNode[], isWanted: (option: OptionWord) => boolean): string[] {
  return [...new Set(nodes.flatMap(({ options }) => options.filter(isWanted).map(({ text }) => text)))];
}

/** A text in single quotes, for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text in single quotes, for fish. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
