import { Outlet } from '@tanstack/react-router';

/** Placeholder until its page is written. */
export function SandboxPage() {
  return <Outlet />;
}
