import { Outlet } from '@tanstack/react-router';
import { Announcements } from '../parts/announcements.tsx';
import { LostConnection } from './lost-connection.tsx';
import { ProgressBar } from './progress-bar.tsx';

/** What is around every page. */
export function RootLayout() {
  return (
    <>
      <ProgressBar />
      <LostConnection />
      <Outlet />
      <Announcements />
    </>
  );
}

/** Stands for a page that takes long to load; the bar at the top moves. */
export function Loading() {
  return (
    <p role="status" className="sr-only">
      Loading
    </p>
  );
}
