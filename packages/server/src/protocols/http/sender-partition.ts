// The partition of a sender, by which requests are counted: what a trusted proxy says of it, else the address of its connection.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { header } from './request-headers.ts';

/** Who may say, for another, where a request comes from; `Everyone` in tests and development. */
export type TrustedProxies = readonly string[] | 'Everyone';

export type PartitionOf = (request: IncomingMessage) => string;

const LOOPBACK = ['127.0.0.0/8', '::1'];
const UNKNOWN = 'unknown';
/** A partition is a key that is kept. */
const LENGTH_MAX = 200;

export function createPartitionOf(trusted: TrustedProxies = LOOPBACK): PartitionOf {
  const isTrusted = trusted === 'Everyone' ? () => true : remembered(withinNetworks(trusted));
  return (request) => {
    const { headers, socket } = request;
    const test = header(headers, 'x-test-id');
    const forwarded = header(headers, 'x-forwarded-for');
    if ((test !== undefined || forwarded !== undefined) && isTrusted(socket)) {
      const named = test?.trim() || forwarded?.split(',', 1)[0]?.trim();
      if (named !== undefined && named !== '') return named.slice(0, LENGTH_MAX);
    }
    return plainAddress(socket.remoteAddress ?? UNKNOWN);
  };
}

function withinNetworks(networks: readonly string[]): (socket: Socket) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return ({ remoteAddress }) => {
    if (remoteAddress === undefined) return false;
    const address = plainAddress(remoteAddress);
    return isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
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

/** An IPv4 address that a socket for both families shows as IPv6 is the same sender. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
