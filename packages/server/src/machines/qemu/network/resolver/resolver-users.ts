import { hostUidRange, type UidRange } from '../../jail/uid-leases.ts';
import { hostStateDir } from '../plan/address-plan.ts';

/**
 * The users that resolvers run under, one for each host process of the host: limits on a user's threads then hold for one resolver, and none can
 * signal another.
 */
export const resolverUsers: UidRange = {
  databasePath: `${hostStateDir}/resolver-uid-leases.db`,
  firstUid: hostUidRange.firstUid + hostUidRange.slots,
  slots: 64,
};
