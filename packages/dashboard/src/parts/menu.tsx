import { Check } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

interface MenuProps {
  /** What the button does, for those who cannot see it. */
  readonly label: string;
  readonly trigger: ReactNode;
  readonly triggerClass: string;
  readonly children: ReactNode;
}

const gapPx = 6;
const itemSelector = '[role^="menuitem"]';

/**
 * A button that opens a menu, which the browser closes on Escape, on a click elsewhere and when another one opens. The arrow keys, Home, End
 * and the first letter of an item move in it. Its items exist while it is open: a long list has many menus.
 */
export function Menu({ label, trigger, triggerClass, children }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);

  const open = (first: 'first' | 'last') => {
    const shown = menu.current;
    const edge = button.current?.getBoundingClientRect();
    if (!shown || !edge) return;
    flushSync(() => setIsOpen(true));
    shown.style.top = `${edge.bottom + gapPx}px`;
    shown.style.right = `${document.documentElement.clientWidth - edge.right}px`;
    shown.showPopover();
    const above = edge.top - gapPx - shown.offsetHeight;
    // Near the lower edge of the window it opens upwards.
    if (edge.bottom + gapPx + shown.offsetHeight > innerHeight && above > 0) shown.style.top = `${above}px`;
    itemsOf(shown)
      .at(first === 'first' ? 0 : -1)
      ?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (!isOpen) return;
    // It does not move with the page. A scroll from before it was opened may be told only now.
    const topPx = button.current?.getBoundingClientRect().top;
    const close = () => {
      if (button.current?.getBoundingClientRect().top !== topPx) menu.current?.hidePopover();
    };
    window.addEventListener('scroll', close, { passive: true });
    return () => window.removeEventListener('scroll', close);
  }, [isOpen]);
  const onButtonKey = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    open(event.key === 'ArrowDown' ? 'first' : 'last');
  };
  const onMenuKey = (event: KeyboardEvent<HTMLDivElement>) => {
    // The Tab key leaves the menu, from where it was opened.
    if (event.key === 'Tab') button.current?.focus();
    if (event.key === 'Tab') menu.current?.hidePopover();
    const next = nextItem(itemsOf(event.currentTarget), event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        popoverTarget={id}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        className={triggerClass}
        onClick={(event) => {
          event.preventDefault();
          if (isOpen) menu.current?.hidePopover();
          else open('first');
        }}
        onKeyDown={onButtonKey}
      >
        {trigger}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={(event) => setIsOpen(event.newState === 'open')}
        onKeyDown={onMenuKey}
        onClick={(event) => {
          if (event.target instanceof Element && event.target.closest(itemSelector)) menu.current?.hidePopover();
        }}
        className="fixed inset-auto m-0 min-w-52 rounded-lg border border-line bg-float p-1 text-ink shadow-float outline-none open:animate-rise"
      >
        {isOpen && children}
      </div>
    </>
  );
}

function itemsOf(menu: HTMLElement): readonly HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(itemSelector)];
}

/** The item that a key leads to from the one with the focus; undefined for other keys. */
function nextItem(items: readonly HTMLElement[], key: string): HTMLElement | undefined {
  const focused = items.findIndex((item) => item.matches(':focus'));
  if (key === 'ArrowDown') return items[(focused + 1) % items.length];
  if (key === 'ArrowUp') return items.at(focused <= 0 ? -1 : focused - 1);
  if (key === 'Home') return items[0];
  if (key === 'End') return items.at(-1);
  if (key.length !== 1 || key === ' ') return undefined;
  const following = [...items.slice(focused + 1), ...items.slice(0, focused + 1)];
  return following.find((item) => item.textContent.trim().toLowerCase().startsWith(key.toLowerCase()));
}

const itemClass =
  'flex h-9 w-full items-center gap-2.5 rounded-md px-2.5 text-left text-sm text-ink outline-none hover:bg-tint hover:text-accent focus:bg-tint focus:text-accent';

interface MenuItemProps {
  readonly icon: ReactNode;
  readonly label: string;
  readonly onSelect: () => void;
  /** It destroys something. */
  readonly isDangerous?: boolean;
}

export function MenuItem({ icon, label, onSelect, isDangerous = false }: MenuItemProps) {
  const colour = isDangerous ? '!text-red hover:!bg-red/9 focus:!bg-red/9' : '';
  return (
    <button type="button" role="menuitem" tabIndex={-1} className={`${itemClass} ${colour}`} onClick={onSelect}>
      {icon}
      {label}
    </button>
  );
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <div className="px-2.5 pt-1.5 pb-2 text-[0.8rem] text-soft">{children}</div>;
}

export function MenuSeparator() {
  return <hr className="my-1 border-line" />;
}

interface MenuChoiceProps {
  readonly label: string;
  readonly icon: ReactNode;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

/** One of several items of which one is chosen. */
export function MenuChoice({ label, icon, isChosen, onChoose }: MenuChoiceProps) {
  return (
    <button
      type="button"
      role="menuitemradio"
      aria-checked={isChosen}
      tabIndex={-1}
      className={itemClass}
      onClick={onChoose}
    >
      {icon}
      <span className="grow">{label}</span>
      {isChosen && <Check size={16} aria-hidden />}
    </button>
  );
}
