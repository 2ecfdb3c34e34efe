import { LoaderCircle } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';
import { useDelayed } from './use-delayed.ts';

export type ButtonLook = 'primary' | 'plain' | 'danger' | 'quiet';

const looks: Readonly<Record<ButtonLook, string>> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  plain: 'border border-line bg-page text-ink hover:border-accent',
  danger: 'border border-current/40 text-red hover:border-current hover:bg-red/8',
  quiet: 'text-soft hover:bg-panel hover:text-ink',
};

const shape =
  'relative inline-flex h-9 shrink-0 select-none items-center justify-center gap-2 rounded-md px-3.5 text-sm font-medium whitespace-nowrap transition-colors focus-visible:rounded-md';

/** The classes of a link that looks like a button. */
export function buttonClass(look: ButtonLook = 'plain', more = ''): string {
  return `${shape} ${looks[look]} ${more}`;
}

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook;
  /** What the button started is under way. It keeps the focus and does nothing meanwhile. */
  readonly isPending?: boolean;
  readonly icon?: ReactNode;
}

export function Button({ look = 'plain', isPending = false, icon, children, className = '', ...rest }: ButtonProps) {
  const isSlow = useDelayed(isPending);
  const muted = rest.disabled || rest['aria-disabled'] ? 'cursor-not-allowed opacity-55' : '';
  return (
    <button
      type="button"
      {...rest}
      {...(isPending && { 'aria-disabled': true, 'aria-busy': true, onClick: ignore })}
      className={buttonClass(look, `${muted} ${className}`)}
    >
      <span className={`inline-flex items-center gap-2 transition-opacity ${isSlow ? 'opacity-0' : ''}`}>
        {icon}
        {children}
      </span>
      {isSlow && <LoaderCircle size={17} aria-hidden className="absolute animate-spin motion-reduce:animate-breathe" />}
    </button>
  );
}

function ignore(event: { preventDefault(): void }): void {
  event.preventDefault();
}
