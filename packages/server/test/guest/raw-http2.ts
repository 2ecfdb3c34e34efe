/** An HTTP/2 frame, valid or not. */
export function rawFrame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

/** The SETTINGS frame that a server sends first. */
export const emptySettings = rawFrame(4, 0, 0, Buffer.alloc(0));

/** A complete `:status 200` answer without a body. */
export function rawResponse(streamId: number): Buffer {
  return rawFrame(1, 5, streamId, Buffer.from([0x88]));
}

/** One header, uncompressed and not indexed; name and value shorter than 127 bytes. */
export function rawHeader(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}
