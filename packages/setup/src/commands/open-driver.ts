import { StartError } from '@mayfly/server/app/start-error.ts';
import { QemuDriver, type QemuDriverOptions } from '@mayfly/server/machines/qemu/driver.ts';
import { NewerMachineRecord } from '@mayfly/server/machines/qemu/machine-record.ts';

/** Opens the driver; what the operator can do something about becomes a message for them. */
export async function openDriver(options: QemuDriverOptions): Promise<QemuDriver> {
  try {
    return await QemuDriver.open(options);
  } catch (error) {
    if (error instanceof NewerMachineRecord) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
