import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  type LanguageSupport,
  StreamLanguage,
  type StreamParser,
  syntaxHighlighting,
} from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Language } from './language.ts';
import { lineSeparatorOf } from './saving.ts';

export interface EditorOptions {
  readonly content: string;
  readonly label: string;
  readonly language: Language | undefined;
  readonly onChange: () => void;
  readonly onSave: () => void;
}

/** A text editor. */
export interface Editor {
  content(): string;
  focus(): void;
  dispose(): void;
}

const colour = (token: string) => `var(--color-${token})`;

const theme = EditorView.theme({
  '&': { height: '100%', color: colour('ink'), backgroundColor: colour('page'), fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: colour('accent'), padding: '0.6rem 0' },
  '.cm-cursor': { borderLeftColor: colour('accent'), borderLeftWidth: '2px' },
  '.cm-gutters': { backgroundColor: colour('page'), color: colour('soft'), border: 'none', paddingLeft: '0.4rem' },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: `color-mix(in srgb, ${colour('panel')} 80%, transparent)`,
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: colour('tint'),
  },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: `color-mix(in srgb, ${colour('amber')} 25%, transparent)` },
  '.cm-searchMatch-selected': { outline: `1px solid ${colour('amber')}` },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: colour('tint'),
    outline: `1px solid ${colour('line')}`,
  },
  '.cm-specialChar': { color: colour('red') },
  '.cm-foldPlaceholder': { backgroundColor: colour('panel'), border: 'none', color: colour('soft') },
  '.cm-panels': { backgroundColor: colour('panel'), color: colour('ink'), fontFamily: 'var(--font-sans)' },
  '.cm-panels.cm-panels-bottom': { borderTop: `1px solid ${colour('line')}` },
  '.cm-textfield': {
    backgroundColor: colour('page'),
    color: colour('ink'),
    border: `1px solid ${colour('edge')}`,
    borderRadius: 'var(--radius-sm)',
    fontSize: '13px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: colour('page'),
    color: colour('ink'),
    border: `1px solid ${colour('line')}`,
    borderRadius: 'var(--radius-sm)',
    fontSize: '13px',
  },
  '.cm-panel.cm-search [name=close]': { color: colour('soft'), fontSize: '18px' },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: colour('accent') },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: colour('green') },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: colour('amber') },
  { tag: [tags.comment, tags.meta], color: colour('soft'), fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.labelName], color: colour('blue') },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: colour('magenta') },
  { tag: [tags.propertyName, tags.attributeName], color: colour('cyan') },
  { tag: [tags.heading, tags.strong], fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: [tags.link, tags.url], color: colour('blue') },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.invalid, tags.deleted], color: colour('red') },
  { tag: tags.inserted, color: colour('green') },
]);

/**
 * Opens an editor in an element. It is in a shadow root, where its style sheets are constructed ones: in a document they would be style elements, which the
 * content security policy forbids.
 */
export function openEditor(element: HTMLElement, options: EditorOptions): Editor {
  const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
  const language = new Compartment();
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.content,
      extensions: [
        EditorState.lineSeparator.of(lineSeparatorOf(options.content)),
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        foldGutter(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search(),
        theme,
        syntaxHighlighting(highlighting),
        EditorView.contentAttributes.of({ 'aria-label': options.label, tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange();
        }),
        keymap.of([
          { key: 'Mod-s', preventDefault: true, run: saveWith(options.onSave) },
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          indentWithTab,
        ]),
        language.of([]),
      ],
    }),
  });
  let isDisposed = false;
  if (options.language !== undefined) {
    void loadLanguage(options.language)
      .then((support) => {
        if (!isDisposed) view.dispatch({ effects: language.reconfigure(support) });
      })
      // It can be edited without colours.
      .catch(() => undefined);
  }
  return {
    content: () => view.state.sliceDoc(),
    focus: () => view.focus(),
    dispose: () => {
      isDisposed = true;
      view.destroy();
    },
  };
}

function saveWith(onSave: () => void): () => boolean {
  return () => {
    onSave();
    return true;
  };
}

async function loadLanguage(language: Language): Promise<LanguageSupport | StreamLanguage<unknown>> {
  switch (language) {
    case 'javascript':
    case 'jsx':
    case 'typescript':
    case 'tsx': {
      const { javascript } = await import('@codemirror/lang-javascript');
      return javascript({ jsx: language.endsWith('x'), typescript: language.startsWith('t') });
    }
    case 'css':
      return (await import('@codemirror/lang-css')).css();
    case 'html':
      return (await import('@codemirror/lang-html')).html();
    case 'json':
      return (await import('@codemirror/lang-json')).json();
    case 'markdown':
      return (await import('@codemirror/lang-markdown')).markdown();
    case 'python':
      return (await import('@codemirror/lang-python')).python();
    case 'yaml':
      return (await import('@codemirror/lang-yaml')).yaml();
    case 'c':
      return stream((await import('@codemirror/legacy-modes/mode/clike')).cpp);
    case 'java':
      return stream((await import('@codemirror/legacy-modes/mode/clike')).java);
    case 'diff':
      return stream((await import('@codemirror/legacy-modes/mode/diff')).diff);
    case 'dockerfile':
      return stream((await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile);
    case 'go':
      return stream((await import('@codemirror/legacy-modes/mode/go')).go);
    case 'lua':
      return stream((await import('@codemirror/legacy-modes/mode/lua')).lua);
    case 'perl':
      return stream((await import('@codemirror/legacy-modes/mode/perl')).perl);
    case 'properties':
      return stream((await import('@codemirror/legacy-modes/mode/properties')).properties);
    case 'ruby':
      return stream((await import('@codemirror/legacy-modes/mode/ruby')).ruby);
    case 'rust':
      return stream((await import('@codemirror/legacy-modes/mode/rust')).rust);
    case 'shell':
      return stream((await import('@codemirror/legacy-modes/mode/shell')).shell);
    case 'sql':
      return stream((await import('@codemirror/legacy-modes/mode/sql')).standardSQL);
    case 'toml':
      return stream((await import('@codemirror/legacy-modes/mode/toml')).toml);
    case 'xml':
      return stream((await import('@codemirror/legacy-modes/mode/xml')).xml);
  }
}

function stream<State>(parser: StreamParser<State>): StreamLanguage<unknown> {
  return StreamLanguage.define(parser);
}
