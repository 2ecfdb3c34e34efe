import { readFile, writeFile } from 'node:fs/promises';

const forwardingPath = (device: string): string => `/proc/sys/net/ipv4/conf/${device}/forwarding`;

/** Whether the kernel forwards packets that come in by an interface; undefined when there is no such interface. */
export const isForwarding = async (device: string): Promise<boolean | undefined> => {
  const text = await readFile(forwardingPath(device), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : text.trim() === '1';
};

/** Whether forwarding is on for the host as a whole. Whoever switched it on wants it for their own sake. */
export const isForwardingEverywhere = async (): Promise<boolean> =>
  (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '1';

/** Switches forwarding of one interface. An interface that has gone is no error. */
export const setForwarding = async (device: string, isOn: boolean): Promise<void> => {
  await writeFile(forwardingPath(device), isOn ? '1' : '0').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
};
