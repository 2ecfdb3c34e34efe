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
}

/** Code with a button that copies it. Lines that are too long go on below, indented. */
export function Code({ source, language, label }: CodeProps) {
  return (
    <section aria-label={label} className="relative">
      <pre className="rounded-lg border border-line bg-code py-3.5 pr-13 pl-4 font-mono text-[0.82rem] leading-relaxed">
        <code>
          {source.split('\n').map((line, index) => (
            <span key={index} className="code-line">
              {tokenize(line, language).map(({ kind, text }, position) => (
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
        <CopyButton text={source} what="the code" isSmall />
      </div>
    </section>
  );
}
