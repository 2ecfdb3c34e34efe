import { type ReactNode, useId } from 'react';

interface SectionProps {
  readonly title: string;
  readonly description: ReactNode;
  readonly children: ReactNode;
}

/** A part of the settings: what it is about on the left, what can be done on the right. */
export function Section({ title, description, children }: SectionProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={id}
      className="grid gap-x-10 gap-y-4 border-line border-t py-8 md:grid-cols-[17rem_minmax(0,1fr)]"
    >
      <div>
        <h2 id={id} className="text-base font-semibold">
          {title}
        </h2>
        <p className="mt-1 text-sm text-soft">{description}</p>
      </div>
      <div className="min-w-0 max-w-2xl">{children}</div>
    </section>
  );
}
