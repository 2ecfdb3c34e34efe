import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

export interface DnsZone {
  readonly address: string;
  readonly ttlSeconds: number;
  /** The addresses of each name. */
  readonly names: Readonly<Record<string, readonly string[]>>;
}

/** Serves a zone over UDP and TCP. */
export async function startDnsServer(zone: DnsZone): Promise<void> {
  const udp = createSocket('udp4', (query, from) => {
    const reply = answer(query, zone);
    if (reply.length > 512) reply.writeUInt16BE(reply.readUInt16BE(2) | 0x0200, 2);
    udp.send(reply.subarray(0, 512), from.port, from.address);
  });
  await new Promise<void>((resolve) => udp.bind(53, zone.address, resolve));
  const tcp = createServer((socket) => {
    socket.once('data', (chunk) => {
      const reply = answer(chunk.subarray(2), zone);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.end(Buffer.concat([length, reply]));
    });
  });
  await new Promise<void>((resolve) => {
    tcp.listen(53, zone.address, resolve);
  });
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(query: Buffer, { names, ttlSeconds }: DnsZone): Buffer {
  const { name, type, end } = readQuestion(query);
  const addresses = type === 1 ? (names[name] ?? []) : [];
  const header = Buffer.from(query.subarray(0, end));
  header.writeUInt16BE(name in names ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
    record.writeUInt32BE(ttlSeconds, 6);
    return record;
  });
  return Buffer.concat([header, ...records]);
}
