// Who sends a request, as far as its connection and trusted proxies tell: whom it counts as, and from where it comes.

import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { plainAddress, withinNetworks } from '../../runtime/networks.ts';
import { header } from './request-headers.ts';

/** Who may say, for another, where a request comes from; `Everyone` in tests and development. */
export type TrustedProxies = readonly string[] | 'Everyone';

/** What tells them: a request of HTTP/1.1, or one of HTTP/2 with the connection of its stream. */
export type Sent = Pick<IncomingMessage, 'headers' | 'socket'>;

export interface Senders {
  /** Requests are counted by it: a name that a proxy has chosen, or an address. */
  partitionOf(request: Sent): string;
  /** The address from which it came to the first trusted proxy, which nobody behind that can choose. */
  addressOf(request: Sent): string;
}

const LOOPBACK = ['127.0.0.0/8', '::1'];
const UNKNOWN = 'unknown';
/** A partition is a key that is kept. */
const LENGTH_MAX = 200;

export function createSenders(trusted: TrustedProxies = LOOPBACK): Senders {
  const isProxy = trusted === 'Everyone' ? () => true : withinNetworks(trusted);
  const isFromProxy = remembered(({ remoteAddress }) => isProxy(remoteAddress ?? ''));
  return {
    partitionOf({ headers, socket }) {
      const test = header(headers, 'x-test-id');
      const forwarded = header(headers, 'x-forwarded-for');
      if ((test !== undefined || forwarded !== undefined) && isFromProxy(socket)) {
        const named = test?.trim() || forwarded?.split(',', 1)[0]?.trim();
        if (named !== undefined && named !== '') return named.slice(0, LENGTH_MAX);
      }
      return plainAddress(socket.remoteAddress ?? UNKNOWN);
    },
    addressOf({ headers, socket }) {
      const forwarded = header(headers, 'x-forwarded-for');
      const own = plainAddress(socket.remoteAddress ?? UNKNOWN);
      if (forwarded === undefined || !isFromProxy(socket)) return own;
      // Each proxy appends whom it has seen; what stands further left was sent by somebody.
      const hops = forwarded.split(',').map((hop) => plainAddress(hop.trim()));
      const first = hops.findLast((hop) => !isProxy(hop)) ?? hops[0]!;
      return isIP(first) === 0 ? UNKNOWN : first;
    },
  };
}

/** A connection keeps its address. */
function remembered(judge: (socket: Socket) => boolean): (socket: Socket) => boolean {
  const judged = new WeakMap<Socket, boolean>();
  return (socket) => {
    const known = judged.get(socket);
    if (known !== undefined) return known;
    const verdict = judge(socket);
    judged.set(socket, verdict);
    return verdict;
  };
}
