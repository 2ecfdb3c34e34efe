import type { FakeFiles } from './files.ts';
import { runShell, type ShellOutput } from './shell.ts';

export interface FakeExecutionRequest {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeout_ms: number;
  readonly capture_bytes: number;
}

const maxPayloadBytes = 65_536;

/** One command in a fake machine; its frames are kept until the machine forgets it. */
export class FakeExecution {
  readonly startedAtMs = Date.now();
  /** The output and the result, as frames, once it has ended. */
  readonly ended: Promise<Buffer>;
  running = true;

  constructor(request: FakeExecutionRequest, files: FakeFiles, machineGone: AbortSignal) {
    this.ended = this.#run(request, files, machineGone).finally(() => {
      this.running = false;
    });
    // A machine that goes away takes its executions with it; nobody has to be listening.
    this.ended.catch(() => {});
  }

  /** The first frame. */
  startFrame(): Buffer {
    return frame(0, Buffer.from(JSON.stringify({ started_at_ms: this.startedAtMs })));
  }

  async #run(request: FakeExecutionRequest, files: FakeFiles, machineGone: AbortSignal): Promise<Buffer> {
    const output: ShellOutput = { stdout: '', stderr: '' };
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), request.timeout_ms);
    const signal = AbortSignal.any([timeout.signal, machineGone]);
    let exitCode = 124;
    let timedOut = false;
    try {
      exitCode = await runShell(request.command, { ...request, files, signal }, output);
    } catch (error) {
      if (machineGone.aborted) throw error;
      timedOut = true;
    } finally {
      clearTimeout(timer);
    }
    const stdout = Buffer.from(output.stdout);
    const stderr = Buffer.from(output.stderr);
    const finishedAtMs = Date.now();
    const result = {
      exit_code: exitCode,
      signal: 0,
      timed_out: timedOut,
      oom_killed: false,
      duration_ms: finishedAtMs - this.startedAtMs,
      started_at_ms: this.startedAtMs,
      finished_at_ms: finishedAtMs,
      stdout_bytes: stdout.length,
      stderr_bytes: stderr.length,
      truncated: Math.max(stdout.length, stderr.length) > request.capture_bytes,
    };
    return Buffer.concat([
      ...frames(1, stdout.subarray(0, request.capture_bytes)),
      ...frames(2, stderr.subarray(0, request.capture_bytes)),
      frame(3, Buffer.from(JSON.stringify(result))),
    ]);
  }
}

function* frames(type: number, bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += maxPayloadBytes)
    yield frame(type, bytes.subarray(at, at + maxPayloadBytes));
}

function frame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}
