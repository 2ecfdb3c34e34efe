import { useEffect, useRef } from 'react';

interface CheckboxProps {
  readonly label: string;
  readonly isChecked: boolean;
  /** Some of what it stands for is checked. */
  readonly isMixed?: boolean;
  readonly isDisabled?: boolean;
  /** `isRange` with the shift key. */
  readonly onToggle: (isRange: boolean) => void;
}

export function Checkbox({ label, isChecked, isMixed = false, isDisabled = false, onToggle }: CheckboxProps) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = isMixed;
  }, [isMixed]);
  return (
    <label className={`-m-2 grid w-fit p-2 select-none ${isDisabled ? '' : 'cursor-pointer'}`}>
      <input
        ref={box}
        type="checkbox"
        aria-label={label}
        checked={isChecked}
        disabled={isDisabled}
        onChange={({ nativeEvent }) => onToggle(nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)}
        className="size-4 cursor-[inherit] accent-accent disabled:opacity-40"
      />
    </label>
  );
}
