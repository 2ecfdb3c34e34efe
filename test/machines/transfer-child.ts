// Attaches to a machine and transfers 8 MiB; the test kills it meanwhile. Arguments: the machine's folder, "read" or "write".
import { createGuestConnector } from '#server/guest/connector.ts';
import { machineLayout } from '#server/machines/qemu/machine-folder.ts';
import { openAgentChannel } from '#server/system/unix-sockets.ts';

const [folder = '', direction = 'read'] = process.argv.slice(2);
const maxBytes = 8 * 1024 ** 2;
const { sockets } = machineLayout(folder);
const machine = { id: 'transfer', openAgentChannel: (cancel: AbortSignal) => openAgentChannel(sockets, cancel) };
const agent = await createGuestConnector().attach(machine, 120_000);
process.stdout.write('started\n');
if (direction === 'read') await agent.readFile('/workspace/eight', maxBytes);
else await agent.writeFile('/workspace/written', Buffer.alloc(maxBytes, 'w'), maxBytes);
process.stdout.write('finished\n');
