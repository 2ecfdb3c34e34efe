import { Check, Copy, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button, type ButtonLook } from './button.tsx';

const shownMs = 2_000;

interface CopyButtonProps {
  /** A function is called when it is copied, for what is long or changes often. */
  readonly text: string | (() => string);
  /** What is copied: "the key". */
  readonly what: string;
  readonly look?: ButtonLook;
  /** Only the icon is shown. */
  readonly isSmall?: boolean;
  readonly onCopied?: () => void;
}

/** Copies a text, and says so where it was clicked. */
export function CopyButton({ text, what, look = 'plain', isSmall = false, onCopied }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'failed'>();
  useEffect(() => {
    if (result === undefined) return;
    const timer = setTimeout(() => setResult(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    const isCopied = await copyText(typeof text === 'string' ? text : text());
    setResult(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
  };
  const Icon = result === undefined ? Copy : result === 'copied' ? Check : X;
  const colour = result === undefined ? '' : result === 'copied' ? 'text-green' : 'text-red';
  const icon = <Icon size={16} aria-hidden className={colour} />;
  const said = result === undefined ? '' : result === 'copied' ? 'Copied' : 'The browser did not allow it';
  const onClick = () => void copy();
  if (isSmall) {
    return (
      <button
        type="button"
        aria-label={`Copy ${what}`}
        title={`Copy ${what}`}
        onClick={onClick}
        className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink"
      >
        {icon}
        <output className="sr-only">{said}</output>
      </button>
    );
  }
  return (
    <Button look={look} icon={icon} onClick={onClick}>
      {result === undefined ? 'Copy' : <output>{said}</output>}
      <span className="sr-only">{what}</span>
    </Button>
  );
}

/** Returns whether it worked. The clipboard's own interface exists only on https and on localhost. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'sr-only';
  // Outside of an open dialog nothing can be selected.
  const parent = document.querySelector('dialog[open]') ?? document.body;
  const focused = document.activeElement;
  parent.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
