import { type Account, type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { useId } from 'react';

interface SizeChoiceProps {
  readonly value: SizeName;
  /** The snapshot decides it. */
  readonly isFixed: boolean;
  readonly prices: Account['pricing_usd_per_hour'] | undefined;
  readonly onChoose: (size: SizeName) => void;
}

/** The sizes with what they have and cost. */
export function SizeChoice({ value, isFixed, prices, onChoose }: SizeChoiceProps) {
  const name = useId();
  return (
    <fieldset disabled={isFixed}>
      <legend className="mb-1.5 text-sm font-medium">
        Size{isFixed && <span className="font-normal text-soft">, from the snapshot</span>}
      </legend>
      <div className="grid grid-cols-3 gap-2 sm:gap-3">
        {sizeNames.map((size) => {
          const { vcpu, memoryGb, diskGb } = sizes[size];
          return (
            <label
              key={size}
              className={`relative rounded-lg p-3 inset-ring transition-colors has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent sm:px-4 ${size === value ? 'bg-tint inset-ring-2 inset-ring-accent' : 'inset-ring-line'} ${isFixed ? 'opacity-60' : 'cursor-pointer hover:inset-ring-accent'}`}
            >
              <input
                type="radio"
                name={name}
                value={size}
                checked={size === value}
                onChange={() => onChoose(size)}
                className="absolute inset-0 cursor-[inherit] opacity-0"
              />
              <span className="block font-semibold capitalize">{size}</span>
              <span className="mt-0.5 block text-[0.8rem] leading-snug text-soft">
                {vcpu} vCPU
                <br />
                {memoryGb} GB RAM
                <br />
                {diskGb} GB disk
              </span>
              <span className="mt-2 block text-[0.82rem] font-medium tabular-nums">
                {prices ? `$${prices[size].toFixed(2)}` : '–'}
                <span className="font-normal text-soft"> / h</span>
              </span>
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
