// Addresses and networks, written as operators write them: 10.0.0.0/8.

import { BlockList, isIP, isIPv6 } from 'node:net';

/** Tells whether an address is in one of the networks; what is no address is in none. */
export function withinNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (sent) => {
    const address = plainAddress(sent);
    return isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  };
}

/** An IPv4 address that a socket for both families shows as IPv6 is the same sender. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
