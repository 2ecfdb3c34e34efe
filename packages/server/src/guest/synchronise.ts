import { randomBytes } from 'node:crypto';
import { GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { AgentChannel } from '../core/ports/machine-driver.ts';
import { guestLimits } from './limits.ts';
import { MarkerScanner } from './marker-scanner.ts';
import { NoAnswer } from './no-answer.ts';
import { ProtocolViolation } from './protocol-violation.ts';

/** Brings both ends to the same byte (steps 1 to 4 of an attach): afterwards the data stream is paused right behind the marker. */
export function synchronise(channel: AgentChannel, deadlineMs: number, repeatMs: number): Promise<void> {
  const nonce = randomBytes(16).toString('hex');
  const scanner = new MarkerScanner(Buffer.from(`MAYFLY-SYNC ${nonce}\n`));
  const { control, data } = channel;
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      clearTimeout(deadline);
      clearInterval(repeat);
      data.off('data', onData).off('end', onGone).off('close', onGone).pause();
      control.off('close', onGone);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onGone = () => settle(new GuestUnreachable('the agent channel closed while attaching'));
    const onData = (chunk: Buffer) => {
      const rest = scanner.push(chunk);
      if (rest !== undefined) {
        data.off('data', onData).pause();
        if (rest.length > 0) data.unshift(rest);
        found = true;
        finish();
      } else if (scanner.droppedBytes > guestLimits.syncBytes) {
        settle(new ProtocolViolation(`no marker in ${guestLimits.syncBytes} bytes`));
      }
    };
    // HTTP/2 takes over the socket itself and must not find a write of ours still under way: Node aborts the process then.
    let found = false;
    let written = false;
    const finish = () => {
      if (found && written) settle();
    };
    const deadline = setTimeout(
      () => settle(new NoAnswer(`the agent did not attach within ${Math.round(deadlineMs)} ms`)),
      deadlineMs,
    );
    const ask = () => {
      // A guest that reads nothing must not make the lines pile up here.
      if (control.writable && control.writableLength === 0) control.write(`\nattach ${nonce}\n`);
    };
    const repeat = setInterval(ask, repeatMs);
    if (data.destroyed || control.destroyed) {
      onGone();
      return;
    }
    control.on('close', onGone);
    data.on('end', onGone).on('close', onGone).on('data', onData);
    ask();
    data.write(`\nMAYFLY-SYNC ${nonce}\n`, () => {
      written = true;
      finish();
    });
  });
}
