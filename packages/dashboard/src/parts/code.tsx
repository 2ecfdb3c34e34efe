import { CopyButton } from './copy-button.tsx';
import { tokenize } from './highlight.ts';

const colours = {
  keyword: 'text-accent',
  string: 'text-green',
  literal: 'text-amber',
  comment: 'text-soft',
  plain: undefined,
} as const;

interface CodeProps {
  readonly source: string;
  readonly language: 'shell' | 'typescript';
  readonly label: string;
  /** What the copy button copies, if that is more than what is shown. */
  readonly copied?: string;
}

/** Code with a button that copies it. */
export function Code({ source, language, label, copied = source }: CodeProps) {
  return (
    <div className="relative">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse scrolls it with the keyboard. */}
      <pre
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-auto rounded-lg border border-line bg-code py-3.5 pr-13 pl-4 font-mono text-[0.82rem] leading-relaxed focus-visible:rounded-lg"
      >
        <code>
          {source.split('\n').map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity.
            <span key={index} className="code-line">
              {tokenize(line, language).map(({ kind, text }, position) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: nor have their parts.
                <span key={position} className={colours[kind]}>
                  {text}
                </span>
              ))}
              {'\n'}
            </span>
          ))}
        </code>
      </pre>
      <div className="absolute top-2 right-2">
        <CopyButton text={copied} what="the code" isSmall />
      </div>
    </div>
  );
}
