/** Listening sockets that this process got from the one that started it, by what they are for. */
export type InheritedSockets = Readonly<Partial<Record<'api' | 'previews', number>>>;

/** The first descriptor that systemd, and mayfly-jail like it, passes on. */
const firstFd = 3;

/**
 * The descriptors of inherited sockets, as sd_listen_fds(3) defines them. The service may not open ports below 1024 itself, so mayfly-jail opens them
 * for it. Sockets for another process, or with other names, are ignored.
 */
export function inheritedSockets(env: NodeJS.ProcessEnv, pid = process.pid): InheritedSockets {
  if (env.LISTEN_PID !== String(pid)) return {};
  const names = (env.LISTEN_FDNAMES ?? '').split(':').slice(0, Number(env.LISTEN_FDS) || 0);
  const fdOf = (name: string) => (names.includes(name) ? firstFd + names.indexOf(name) : undefined);
  const [api, previews] = [fdOf('api'), fdOf('previews')];
  return { ...(api !== undefined && { api }), ...(previews !== undefined && { previews }) };
}
