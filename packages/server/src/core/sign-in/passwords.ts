import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from '../errors/api-error.ts';
import { FairQueue } from '../scheduling/fair-queue.ts';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** How expensive a guess is. N is 2 to the power of `ln`; one hash takes 128 · N · r bytes of memory. */
export interface ScryptCost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** 32 MiB, and about a quarter of a second on the slowest hosts. */
const defaultCost: ScryptCost = { ln: 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
/** Each takes a thread that files and name lookups share. */
export const hashedAtOnce = 2;
export const maxWaiting = 32;
const stored = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([+/0-9A-Za-z]{1,64})\$([+/0-9A-Za-z]{1,128})$/;

/** Hashes and verifies passwords. What is stored holds its parameters: `$scrypt$ln=15,r=8,p=3$SALT$HASH`. */
export class Passwords {
  readonly #cost: ScryptCost;
  readonly #queue = new FairQueue(hashedAtOnce);
  readonly #nobody: string;
  #inFlight = 0;

  constructor(cost: ScryptCost = defaultCost) {
    this.#cost = cost;
    this.#nobody = format(cost, randomBytes(saltBytes), randomBytes(hashBytes));
  }

  /** Throws a 429 if too many others wait. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    return format(this.#cost, salt, await this.#derive(password, this.#cost, salt, hashBytes));
  }

  /** Whether a password matches what is stored. Without anything stored it does not, after the same work. Throws a 429 if too many others wait. */
  async verify(password: string, storedHash: string | null): Promise<boolean> {
    const [, ln, r, p, salt = '', hash = ''] = stored.exec(storedHash ?? this.#nobody) ?? [];
    const expected = Buffer.from(hash, 'base64');
    if (expected.length === 0) return false;
    const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
    const derived = await this.#derive(password, cost, Buffer.from(salt, 'base64'), expected.length);
    return timingSafeEqual(derived, expected) && storedHash !== null;
  }

  async #derive(password: string, { ln, r, p }: ScryptCost, salt: Buffer, bytes: number): Promise<Buffer> {
    if (this.#inFlight >= hashedAtOnce + maxWaiting) throw tooManySignIns();
    this.#inFlight += 1;
    try {
      const options = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r };
      // What looks the same on two keyboards must be the same password.
      const typed = password.normalize('NFKC');
      return await this.#queue.run('', () => derive(typed, salt, bytes, options), new AbortController().signal);
    } finally {
      this.#inFlight -= 1;
    }
  }
}

function format({ ln, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=${r},p=${p}$${text(salt)}$${text(hash)}`;
}

function tooManySignIns(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    'Too many people are signing in at once. Wait for the number of seconds in Retry-After.',
  );
}
