/** The entry `@mayfly/server/confinement`: the user, limits and ports of the service, which set-up checks and prepares. */
export { type ListeningPort, resolvePorts } from './listening-ports.ts';
export { serviceLimits } from './process-cgroup.ts';
export {
  findGroup,
  findUser,
  groupsOf,
  type SystemGroup,
  type SystemUser,
  serviceUserName,
  usersOfGroup,
} from './system-user.ts';
