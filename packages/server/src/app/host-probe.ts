import { readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import type { HostProbe } from '../core/ports/host.ts';

const available = /^MemAvailable:\s+(\d+) kB$/m;

/** Looks at this host: its memory, and the disk that a folder is on. */
export function probeHost(folder: string): HostProbe {
  return {
    figures: () => {
      const { bavail, bsize } = statfsSync(folder);
      return { memoryAvailableBytes: memoryAvailableBytes(), diskFreeBytes: bavail * bsize };
    },
  };
}

function memoryAvailableBytes(): number {
  const kibibytes = available.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}
