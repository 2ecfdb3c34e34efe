import type { AgentChannel } from '../../core/ports/machine-driver.ts';
import type { MachineSockets } from './layout.ts';
import { connectUnix } from './unix-socket.ts';

/** Connects both agent ports of a machine. */
export const openAgentChannel = async (sockets: MachineSockets, signal: AbortSignal): Promise<AgentChannel> => {
  const control = await connectUnix(sockets.control, signal);
  try {
    const data = await connectUnix(sockets.data, signal);
    return {
      control,
      data,
      close: () => {
        control.destroy();
        data.destroy();
      },
    };
  } catch (error) {
    control.destroy();
    throw error;
  }
};
