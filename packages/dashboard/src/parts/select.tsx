import { ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';

interface SelectProps<Value extends string> {
  /** The question that the choice answers. */
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChoose: (value: Value) => void;
  readonly icon?: ReactNode;
}

/** A choice of one of many in little room. It stands out while it is not the first one. */
export function Select<Value extends string>({ label, value, options, onChoose, icon }: SelectProps<Value>) {
  const isDefault = value === options[0]?.value;
  return (
    <span
      className={`relative inline-flex h-9 min-w-0 items-center max-sm:grow max-sm:basis-0 rounded-md text-[0.82rem] inset-ring transition-colors focus-within:outline-2 focus-within:-outline-offset-1 focus-within:outline-accent ${isDefault ? 'text-soft inset-ring-line hover:text-ink' : 'bg-tint text-accent inset-ring-accent/40'}`}
    >
      {icon !== undefined && <span className="pointer-events-none absolute left-2.5 max-sm:hidden">{icon}</span>}
      <select
        aria-label={label}
        value={value}
        onChange={(event) => {
          const chosen = options.find((option) => option.value === event.target.value);
          if (chosen) onChoose(chosen.value);
        }}
        className={`h-full w-full cursor-pointer truncate appearance-none rounded-md bg-transparent pr-7.5 outline-none ${icon === undefined ? 'pl-3' : 'pl-3 sm:pl-8'}`}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} className="bg-float text-ink">
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown size={14} aria-hidden className="pointer-events-none absolute right-2.5" />
    </span>
  );
}
