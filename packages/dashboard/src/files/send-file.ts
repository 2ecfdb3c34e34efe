import { failureOf, RequestFailure } from '../api/failure.ts';
import { sandboxPath } from '../sandbox/queries.ts';

export interface SendOptions {
  readonly sandboxId: string;
  /** Where it goes, absolute. */
  readonly path: string;
  readonly file: Blob;
  readonly signal: AbortSignal;
  /** From 0 to 1. */
  readonly onProgress: (part: number) => void;
}

/** Uploads a file. Throws RequestFailure if it is refused, and Error if this computer cannot read it. */
export async function sendFile({ sandboxId, path, file, signal, onProgress }: SendOptions): Promise<void> {
  const body = JSON.stringify({ path, content: await asBase64(file), encoding: 'base64' });
  signal.throwIfAborted();
  // Unlike fetch it tells how much was sent.
  const call = new XMLHttpRequest();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => call.abort();
  signal.addEventListener('abort', abort);
  call.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
  call.onload = () => {
    if (call.status === 201) resolve();
    else reject(failureOf(call.status, headersOf(call), parse(call.responseText)));
  };
  call.onerror = () =>
    reject(
      new RequestFailure('connection_lost', 'The service cannot be reached. Check your connection, then try again.'),
    );
  call.onabort = () => reject(signal.reason ?? new Error('The upload was cancelled.'));
  call.open('PUT', `/app/api${sandboxPath(sandboxId)}/files`);
  call.setRequestHeader('content-type', 'application/json');
  call.setRequestHeader('accept', 'application/json');
  call.send(body);
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function headersOf(call: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const name of ['retry-after', 'x-request-id']) {
    const value = call.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return headers;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asBase64(file: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result.replace(/^[^,]*,?/, '') : '');
  reader.onerror = () => reject(new Error('This computer could not read the file. Folders cannot be uploaded.'));
  reader.readAsDataURL(file);
  return promise;
}
