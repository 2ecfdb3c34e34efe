import './style/style.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient, leaveSession } from './api/queries.ts';
import { createAppRouter } from './router.tsx';
import { watchForLinks } from './sign-in/link-token.ts';
import { signInTarget } from './sign-in/return-path.ts';

// Before anything else can read or log the address.
watchForLinks();

const queryClient = createQueryClient(() => {
  const { href, pathname } = router.latestLocation;
  // Several requests may notice it.
  if (pathname === '/sign-in') return;
  void leaveSession(queryClient, () => router.navigate({ ...signInTarget(href), replace: true }));
});
const router = createAppRouter(queryClient);

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element "root".');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
