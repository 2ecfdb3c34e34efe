import { useId } from 'react';
import { formatDuration } from '../../parts/duration.ts';

const minuteMs = 60_000;
const presets = [15, 30, 60, 240, 1440];

interface MinutesFieldProps {
  readonly label: string;
  readonly value: string;
  readonly maxMinutes: number;
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
}

/** A number of minutes, typed or chosen from common ones. */
export function MinutesField({ label, value, maxMinutes, onChange, hint, error }: MinutesFieldProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      <div className="flex flex-wrap items-center gap-2">
        <div className="relative w-32">
          <input
            id={id}
            inputMode="numeric"
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(event.target.value)}
            {...(error !== undefined && { 'aria-invalid': true })}
            aria-describedby={`${id}note`}
            className="input !h-9 pr-12 tabular-nums"
          />
          <span
            aria-hidden
            className="pointer-events-none absolute inset-y-0 right-3 grid place-items-center text-sm text-soft"
          >
            min
          </span>
        </div>
        <div className="flex flex-wrap gap-1">
          {presets
            .filter((minutes) => minutes <= maxMinutes)
            .map((minutes) => (
              <button
                key={minutes}
                type="button"
                aria-pressed={value.trim() === `${minutes}`}
                onClick={() => onChange(`${minutes}`)}
                className="h-9 rounded-md px-2.5 text-[0.82rem] text-soft inset-ring inset-ring-line transition-colors hover:text-ink aria-pressed:bg-tint aria-pressed:text-accent aria-pressed:inset-ring-accent"
              >
                {formatDuration(minutes * minuteMs)}
              </button>
            ))}
        </div>
      </div>
      <p id={`${id}note`} className={`mt-1.5 text-[0.8rem] ${error === undefined ? 'text-soft' : 'text-red'}`}>
        {error ?? hint}
      </p>
    </div>
  );
}
