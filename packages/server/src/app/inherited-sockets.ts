/** Listening sockets that this process got from the one that started it, by what they are for. */
export type InheritedSockets = Readonly<Partial<Record<'api' | 'previews', readonly number[]>>>;

/** The first descriptor that systemd, and mayfly-jail like it, passes on. */
const firstFd = 3;

/**
 * The descriptors of inherited sockets, as sd_listen_fds(3) defines them. They stay open in another process when this one ends, so that no connection is refused
 * during a restart. Sockets for another process, or with other names, are ignored.
 */
export function inheritedSockets(env: NodeJS.ProcessEnv, pid = process.pid): InheritedSockets {
  if (env.LISTEN_PID !== String(pid)) return {};
  const names = (env.LISTEN_FDNAMES ?? '').split(':').slice(0, Number(env.LISTEN_FDS) || 0);
  const fdsOf = (wanted: string) => names.flatMap((name, index) => (name === wanted ? [firstFd + index] : []));
  const [api, previews] = [fdsOf('api'), fdsOf('previews')];
  return { ...(api.length > 0 && { api }), ...(previews.length > 0 && { previews }) };
}
