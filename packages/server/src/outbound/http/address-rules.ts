// Which addresses may be connected to. Public is what the registries of IANA for special-purpose addresses call globally
// reachable, less the metadata services that clouds have on such an address. Forms that carry an IPv4 address inside an
// IPv6 one (mapped, compatible, translated, NAT64, 6to4, Teredo) are never public: they lead where their gateway leads.

import { BlockList, isIP } from 'node:net';

export interface AddressRule {
  /** What it allows, to complete "… is not". */
  readonly words: string;
  /** Of an IP address. Every address of a name has to pass. */
  allows(address: string): boolean;
  /** Whether a name may be looked up at all. */
  allowsName(name: string): boolean;
}

const anyName = () => true;

export const anyAddress: AddressRule = { words: 'allowed', allows: () => true, allowsName: anyName };
export const noAddress: AddressRule = { words: 'allowed', allows: () => false, allowsName: () => false };

const LOOPBACK = listOf('127.0.0.0/8', '::1/128');

export const loopbackOnly: AddressRule = {
  words: 'on this machine',
  allows: (address) => isIn(LOOPBACK, address),
  allowsName: anyName,
};

/** Special-purpose and not globally reachable, or multicast. */
const NOT_PUBLIC_IPV4 = listOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // The services of Azure for its virtual machines.
  '168.63.129.16/32',
);

/** All that is assigned to be routed; IANA has given out nothing outside of it. */
const GLOBAL_UNICAST_IPV6 = listOf('2000::/3');

/**
 * The special-purpose parts of it: protocol assignments with Teredo, documentation, 6to4. What is reachable among the first
 * are services of the network itself, such as anycast relays.
 */
const NOT_PUBLIC_IPV6 = listOf('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** Names that lead to this machine or into a private network, by RFC 6761, RFC 6762 and the reserved `.internal`. */
const PRIVATE_NAME = /(^|\.)(localhost|local|internal)$/;

export const publicOnly: AddressRule = {
  words: 'public',
  allows: (address) =>
    isIP(address) === 4
      ? !isIn(NOT_PUBLIC_IPV4, address)
      : isIn(GLOBAL_UNICAST_IPV6, address) && !isIn(NOT_PUBLIC_IPV6, address),
  allowsName: (name) => !PRIVATE_NAME.test(name),
};

/** Where clouds give credentials to anyone who asks from inside, with the rest of link-local. */
const METADATA_IPV4 = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'];

/** BlockList sees through mapped addresses. Of the other forms, compatible and NAT64 ones are judged by what they carry. */
const METADATA = listOf(
  ...METADATA_IPV4,
  ...METADATA_IPV4.flatMap((network) => ['::', '64:ff9b::'].map((prefix) => carried(prefix, network))),
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  // Translated, NAT64 with a local prefix, Teredo, 6to4.
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
  // No address of one machine.
  '0.0.0.0/8',
  '::/128',
  '224.0.0.0/3',
  'ff00::/8',
);

/** Private networks and loopback too, for installations whose consumers are inside. */
export const anyButMetadata: AddressRule = {
  words: 'allowed',
  allows: (address) => !isIn(METADATA, address),
  allowsName: anyName,
};

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function carried(prefix: string, network: string): string {
  const [address, bits] = network.split('/');
  return `${prefix}${address}/${96 + Number(bits)}`;
}

function listOf(...networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
