import { Eye, EyeOff } from 'lucide-react';
import { type ComponentProps, type ReactNode, useId, useState } from 'react';

interface FieldProps extends ComponentProps<'input'> {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

/** A labelled field, with a hint or what is wrong with its value. */
export function Field({ label, hint, error, children, className = '', ...input }: FieldProps) {
  const id = useId();
  const noteId = `${id}note`;
  const hasNote = error !== undefined || hint !== undefined;
  return (
    <div>
      <label htmlFor={id} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      <div className="relative">
        <input
          id={id}
          {...input}
          {...(error !== undefined && { 'aria-invalid': true })}
          {...(hasNote && { 'aria-describedby': noteId })}
          className={`input ${className}`}
        />
        {children}
      </div>
      {hasNote && (
        <p id={noteId} className={`mt-1.5 text-[0.8rem] ${error === undefined ? 'text-soft' : 'text-red'}`}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

/** A password that can be looked at while it is typed. */
export function PasswordField(props: FieldProps) {
  const [isShown, setIsShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <Field {...props} type={isShown ? 'text' : 'password'} spellCheck={false} autoCapitalize="none" className="pr-11">
      <button
        type="button"
        aria-label="Show the password"
        aria-pressed={isShown}
        onClick={() => setIsShown(!isShown)}
        className="absolute inset-y-0 right-0 grid w-10 place-items-center rounded-md text-soft hover:text-ink"
      >
        <Icon size={17} aria-hidden />
      </button>
    </Field>
  );
}
