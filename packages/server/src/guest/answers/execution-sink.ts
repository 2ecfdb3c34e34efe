import type { ExecuteResult, Reserve } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';
import { ByteCollector } from './byte-collector.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { countAnswer } from './reserved-answer.ts';
import { executionEnded, executionStarted } from './schemas.ts';
import { parseGuestJson, type Sink } from './sinks.ts';

/** The frames of an execution. Only live ones have gaps. */
export const frameType = { started: 0, stdout: 1, stderr: 2, ended: 3, gap: 4 } as const;

/** Reads the frames of an execution. Keeps at most captureBytes plus one frame of each output stream, and reserves room for large output. */
export function executionSink(captureBytes: number, reserve?: Reserve): Sink<ExecuteResult> {
  const outputLimitBytes = captureBytes + guestLimits.framePayloadBytes;
  const countOutput = countAnswer(2 * outputLimitBytes, reserve);
  const stdout = new ByteCollector(outputLimitBytes);
  const stderr = new ByteCollector(outputLimitBytes);
  let started = false;
  let ended: ReturnType<typeof readEnded> | undefined;
  let framesLeft = 2 * captureBytes + guestLimits.extraFrames;

  const onFrame = (type: number, payload: Buffer) => {
    framesLeft -= 1;
    if (framesLeft < 0) throw new ProtocolViolation('more frames than the output needs');
    if (ended !== undefined) throw new ProtocolViolation('a frame after the result');
    if (!started && type !== frameType.started) throw new ProtocolViolation('output before the start frame');
    if (type === frameType.started) {
      if (started) throw new ProtocolViolation('a second start frame');
      readJson(payload, executionStarted);
      started = true;
    } else if (type === frameType.stdout || type === frameType.stderr) {
      const output = type === frameType.stdout ? stdout : stderr;
      countOutput(payload.length);
      if (!output.push(payload)) throw new ProtocolViolation('more output than requested');
    } else if (type === frameType.ended) {
      ended = readEnded(payload);
    } else {
      throw new ProtocolViolation(`a frame of the unknown type ${type}`);
    }
  };
  const frames = new FrameDecoder(onFrame);

  return {
    push: (chunk) => frames.push(chunk),
    finish() {
      frames.finish();
      if (ended === undefined) throw new ProtocolViolation('an execution without a result');
      return { ...ended, stdout: stdout.concat(), stderr: stderr.concat() };
    },
  };
}

/** Parses the result of an execution. */
export function readEnded(payload: Buffer): Omit<ExecuteResult, 'stdout' | 'stderr'> {
  const end = readJson(payload, executionEnded);
  return {
    exitCode: end.exit_code,
    timedOut: end.timed_out,
    oomKilled: end.oom_killed,
    durationMs: end.duration_ms,
    truncated: end.truncated,
    writtenBytes: end.stdout_bytes + end.stderr_bytes,
  };
}

/** Parses the JSON of a frame. */
export function readJson<T>(payload: Buffer, schema: Parameters<typeof parseGuestJson<T>>[1]): T {
  if (payload.length > guestLimits.frameJsonBytes) throw new ProtocolViolation('a JSON frame that is too large');
  return parseGuestJson(payload, schema);
}
