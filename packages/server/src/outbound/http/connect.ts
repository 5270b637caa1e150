// A new connection: to one of the addresses that were judged, by no second lookup, and TLS over it. TLS is 1.2 or later and
// always verified, whatever the environment says.

import { connect as connectTcp, type LookupFunction, type Socket, isIP } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { Course } from './course.ts';

/** After that the next address is tried; no round trip on earth takes longer. */
const ADDRESS_MS = 500;

export interface Endpoint {
  /** All of them judged, never empty. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** How long the connection may be idle. */
  readonly idleMs: number;
}

export function openTcp({ addresses, port, idleMs }: Endpoint, course: Course): Promise<Socket> {
  const [first = '', ...others] = addresses;
  // Node looks up only what is no address; this name is never seen by a resolver.
  const host = others.length === 0 ? first : 'judged.invalid';
  return opened(course, () =>
    connectTcp({
      host,
      port,
      noDelay: true,
      timeout: idleMs,
      lookup: leadsTo(addresses),
      autoSelectFamily: others.length > 0,
      autoSelectFamilyAttemptTimeout: ADDRESS_MS,
    }),
  );
}

export interface TlsPeer {
  /** The name or address that its certificate must be for. */
  readonly host: string;
  readonly context: SecureContext;
  readonly idleMs: number;
}

export function openTls(socket: Socket, { host, context, idleMs }: TlsPeer, course: Course): Promise<Socket> {
  return opened(
    course,
    () =>
      connectTls({
        socket,
        host,
        servername: isIP(host) === 0 ? host : '',
        secureContext: context,
        ALPNProtocols: ['http/1.1'],
        // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED turns the default off.
        rejectUnauthorized: true,
        timeout: idleMs,
      }),
    'secureConnect',
  );
}

function opened(course: Course, open: () => Socket, event = 'connect'): Promise<Socket> {
  return course.during((done, failed) => {
    const socket = open();
    // Stays: an error of a socket that nobody listens to would end the process.
    socket.on('error', failed);
    socket.once('close', () => failed(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    socket.once(event, () => done(socket));
    return () => socket.destroy();
  });
}

function leadsTo(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, { all }, callback) => {
    if (all === true) return callback(null, found);
    return callback(null, found[0]!.address, found[0]!.family);
  };
}
