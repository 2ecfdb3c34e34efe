import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeName } from '@mayfly/contract';
import type { DriverCapabilities, LaunchRequest, MachineDriver } from '../../core/ports/machine-driver.ts';
import type { QemuEngine } from './host/engine.ts';
import { QemuMachine } from './machine.ts';
import { restoreTemplate } from './restore.ts';
import type { Template } from './template/manifest.ts';

export interface QemuDriverOptions {
  readonly engine: QemuEngine;
  readonly templates: Readonly<Record<SizeName, Template>>;
  /** Where each machine gets a folder of its own. */
  readonly machinesDir: string;
}

/** Real virtual machines: one QEMU process each, restored copy-on-write from its size's template. */
export class QemuDriver implements MachineDriver {
  readonly #options: QemuDriverOptions;

  constructor(options: QemuDriverOptions) {
    this.#options = options;
  }

  capabilities(): DriverCapabilities {
    const { acceleration } = this.#options.engine;
    return { engine: 'qemu', acceleration, pause: true, snapshot: false, adopt: false, network: false };
  }

  async launch({ id, size, signal }: LaunchRequest): Promise<QemuMachine> {
    if (!/^[a-z0-9_-]{1,64}$/.test(id)) throw new Error(`not a machine id: ${JSON.stringify(id)}`);
    const { engine, templates, machinesDir } = this.#options;
    await mkdir(machinesDir, { recursive: true, mode: 0o700 });
    const restored = await restoreTemplate(engine, templates[size], `mayfly-${id}`, join(machinesDir, id), signal);
    return new QemuMachine(id, size, restored);
  }
}
