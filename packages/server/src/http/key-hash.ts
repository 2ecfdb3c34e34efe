import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { keyHashIn } from '../core/accounts/authenticate.ts';

interface Hashed {
  readonly authorization: string | undefined;
  readonly keyHash: string;
}

/** The hash of a request's key; a connection that sends the same key again is not hashed again. Fails as keyHashIn does. */
export function keyHashes(): (request: FastifyRequest) => string {
  const last = new WeakMap<Socket, Hashed>();
  return ({ raw: { socket, headers } }) => {
    const { authorization } = headers;
    const known = last.get(socket);
    if (known !== undefined && known.authorization === authorization) return known.keyHash;
    const keyHash = keyHashIn(authorization);
    last.set(socket, { authorization, keyHash });
    return keyHash;
  };
}
