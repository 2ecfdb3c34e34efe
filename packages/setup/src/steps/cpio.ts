/** One thing in an archive; everything belongs to root and has no date, so that equal content is an equal archive. */
export type CpioMember =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | { readonly type: 'file'; readonly path: string; readonly mode: number; readonly bytes: Buffer }
  | {
      readonly type: 'character-device';
      readonly path: string;
      readonly mode: number;
      readonly major: number;
      readonly minor: number;
    };

const typeBits = { directory: 0o040000, file: 0o100000, 'character-device': 0o020000 } as const;

/** An archive in the kernel's "newc" format, members in the given order. */
export function packCpio(members: readonly CpioMember[]): Buffer {
  const parts = members.map((member, index) => {
    const bytes = member.type === 'file' ? member.bytes : Buffer.alloc(0);
    const device = member.type === 'character-device' ? member : { major: 0, minor: 0 };
    const links = member.type === 'directory' ? 2 : 1;
    return packMember(member.path, bytes, [
      index + 1,
      typeBits[member.type] | member.mode,
      links,
      device.major,
      device.minor,
    ]);
  });
  return Buffer.concat([...parts, packMember('TRAILER!!!', Buffer.alloc(0), [0, 0, 1, 0, 0])]);
}

type HeaderNumbers = readonly [inode: number, mode: number, links: number, deviceMajor: number, deviceMinor: number];

function packMember(path: string, bytes: Buffer, [inode, mode, links, major, minor]: HeaderNumbers): Buffer {
  const name = Buffer.from(`${path}\0`);
  const owner = 0;
  const date = 0;
  const checksum = 0;
  const fields = [inode, mode, owner, owner, links, date, bytes.length, 0, 0, major, minor, name.length, checksum];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([padToFour(Buffer.concat([Buffer.from(header), name])), padToFour(bytes)]);
}

function padToFour(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
