// What every runtime must be able to do with the SDK. Plain JavaScript, run unchanged by all of them; the reports are compared.
export async function scenario(sdk, { baseUrl, apiKey, name }) {
  const { Mayfly, NotFoundError, SandboxEndedError } = sdk;
  const mayfly = new Mayfly({ baseUrl, apiKey });
  const sandbox = await mayfly.sandboxes.create({ name });
  try {
    const report = {};
    let streamed = '';
    const hello = await sandbox.exec('echo "grüße from $(uname -s)"', { onStdout: (text) => (streamed += text) });
    report.hello = [hello.exitCode, hello.stdout, streamed];
    report.failed = (await sandbox.exec(['sh', '-c', 'exit "$1"', 'sh', '3'])).exitCode;
    await sandbox.files.write('data.bin', new Uint8Array([0, 255, 10]));
    report.bytes = Array.from(await sandbox.files.readBytes('data.bin'));
    const cat = await sandbox.spawn('cat; echo end');
    await cat.write('typed ');
    await cat.closeStdin();
    let copied = '';
    for await (const { text } of cat) copied += text;
    report.copied = copied;
    const terminal = await sandbox.terminal({ cols: 90, rows: 20 });
    terminal.write('stty size; exit 7\n');
    let printed = '';
    for await (const bytes of terminal) printed += new TextDecoder().decode(bytes);
    report.terminal = [terminal.exitCode, printed.includes('20 90')];
    const names = [];
    for await (const { info } of mayfly.sandboxes.list()) names.push(info.name);
    report.listed = names.includes(name);
    report.unknown = await mayfly.sandboxes
      .get('sbx_unknown')
      .catch((error) => error instanceof NotFoundError && error.type);
    await sandbox.delete();
    report.ended = await sandbox.exec('true').catch((error) => error instanceof SandboxEndedError && error.reason);
    report.aborted = await sandbox
      .exec('true', { signal: AbortSignal.abort(new Error('no')) })
      .catch((error) => error.message);
    return report;
  } finally {
    await sandbox.delete();
  }
}
