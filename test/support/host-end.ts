// A host end of its own: attaches to a machine and moves 8 MiB, until it is killed. Arguments: folder of the machine, "read" or "write".
import { createGuestConnector } from '#server/guest/connector.ts';
import { openAgentChannel } from '#server/machines/qemu/agent-channel.ts';
import { machineLayout } from '#server/machines/qemu/layout.ts';

const [folder = '', direction = 'read'] = process.argv.slice(2);
const maxBytes = 8 * 1024 ** 2;
const { sockets } = machineLayout(folder);
const channel = await openAgentChannel(sockets, AbortSignal.timeout(10_000));
const agent = await createGuestConnector().attachChannel(channel, 30_000);
process.stdout.write('moving\n');
if (direction === 'read') await agent.readFile('/workspace/eight', maxBytes);
else await agent.writeFile('/workspace/written', Buffer.alloc(maxBytes, 'w'), maxBytes);
process.stdout.write('moved\n');
