import { useSuspenseQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/queries.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Page } from '../parts/page.tsx';
import { PasswordSection } from './password-section.tsx';
import { Section } from './section.tsx';
import { SessionsSection } from './sessions-section.tsx';
import { TwoFactorSection } from './two-factor-section.tsx';

export function SettingsPage() {
  const { data: session } = useSuspenseQuery(sessionQuery);
  return (
    <Page title="Settings">
      <Section title="Account" description="The operator of this service manages accounts.">
        <dl className="grid gap-x-6 sm:grid-cols-[8rem_minmax(0,1fr)] sm:gap-y-3">
          <dt className="text-soft">E-mail address</dt>
          <dd className="max-sm:mb-2 wrap-anywhere">{session.account.email}</dd>
          <dt className="text-soft">Account id</dt>
          <dd className="-my-1 flex items-center gap-1">
            <code className="truncate font-mono text-[0.85rem]">{session.account.id}</code>
            <CopyButton text={session.account.id} what="the account id" isSmall />
          </dd>
        </dl>
      </Section>
      <PasswordSection session={session} />
      <TwoFactorSection session={session} />
      <SessionsSection />
    </Page>
  );
}
