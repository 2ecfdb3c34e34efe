import { join } from 'node:path';

/** The unix sockets of one machine. */
export interface MachineSockets {
  readonly qmp: string;
  readonly control: string;
  readonly data: string;
}

/** Where one machine keeps its files. */
export interface MachineLayout {
  readonly folder: string;
  readonly diskPath: string;
  readonly logPath: string;
  readonly consolePath: string;
  readonly recordPath: string;
  readonly sockets: MachineSockets;
}

/** Linux refuses longer unix socket paths. */
const maxSocketPathBytes = 107;

/** The files of the machine in a folder. Fails when the folder's path is too long for a unix socket. */
export const machineLayout = (folder: string): MachineLayout => {
  const sockets = { qmp: join(folder, 'qmp'), control: join(folder, 'control'), data: join(folder, 'data') };
  if (Buffer.byteLength(sockets.control) > maxSocketPathBytes) {
    throw new Error(`the path ${folder} is too long for a unix socket: choose a shorter MAYFLY_DATA_DIR`);
  }
  return {
    folder,
    diskPath: join(folder, 'disk.qcow2'),
    logPath: join(folder, 'qemu.log'),
    consolePath: join(folder, 'console.log'),
    recordPath: join(folder, 'machine.json'),
    sockets,
  };
};
