// From a name to addresses, by name servers asked directly: a slow one holds back only who asks for its names, where the system's
// way waits in one of four threads that everything shares. The hosts file comes first; there are no search domains.

import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import type { Resolve } from './resolve.ts';

export interface DnsResolveOptions {
  readonly clock: Clock;
  /** For a whole lookup. */
  readonly timeoutMs?: number;
  /** `address:port`; those of the system, unless given. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

const TIMEOUT_MS = 5000;
/** The first time; after that the next server is asked, or the same one again. */
const TRY_MS = 1500;
const TRIES = 2;
/** How long the other family of addresses is waited for. */
const OTHER_FAMILY_MS = 500;
const HOSTS_FILE = '/etc/hosts';
const HOSTS_KEPT_MS = 10_000;

export function createDnsResolve(options: DnsResolveOptions): Resolve {
  const hosts = new HostsFile(options.hostsFile ?? HOSTS_FILE, options.clock);
  const underWay = new Map<string, Promise<readonly string[]>>();
  const resolve = async (name: string) => {
    // By RFC 6761 it is never asked for.
    if (/(^|\.)localhost$/i.test(name)) return ['127.0.0.1', '::1'];
    return (await hosts.addressesOf(name)) ?? (await ask(name, options));
  };
  return (name) => {
    const asked = underWay.get(name);
    if (asked !== undefined) return asked;
    const asking = resolve(name).finally(() => underWay.delete(name));
    underWay.set(name, asking);
    return asking;
  };
}

/** A resolver of its own: it has the name servers of this moment, and can be told to stop. */
async function ask(name: string, { clock, timeoutMs = TIMEOUT_MS, servers }: DnsResolveOptions) {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const timers = [clock.after(timeoutMs, () => resolver.cancel())];
  const firstHas = (addresses: readonly string[]) => {
    timers.push(clock.after(OTHER_FAMILY_MS, () => resolver.cancel()));
    return addresses;
  };
  try {
    const families = [resolver.resolve4(name).then(firstHas), resolver.resolve6(name).then(firstHas)];
    const [ipv4, ipv6] = await Promise.allSettled(families);
    const found = [ipv4!, ipv6!].flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
    if (found.length > 0) return found;
    const reasons = [ipv4!, ipv6!].flatMap((family) => (family.status === 'rejected' ? [family.reason] : []));
    throw reasons.find((reason) => !SAYS_NO.has(codeOf(reason))) ?? reasons[0];
  } finally {
    for (const timer of timers) timer.cancel();
  }
}

/** An answer, unlike none. */
const SAYS_NO = new Set(['ENOTFOUND', 'ENODATA']);

function codeOf(reason: unknown): string {
  return reason instanceof Error && 'code' in reason ? String(reason.code) : '';
}

class HostsFile {
  readonly #path: string;
  readonly #clock: Clock;
  #read: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  #readNs = 0;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async addressesOf(name: string): Promise<readonly string[] | undefined> {
    const nowNs = this.#clock.monotonicNs();
    if (this.#read === undefined || nowNs - this.#readNs > HOSTS_KEPT_MS * 1e6) {
      this.#readNs = nowNs;
      this.#read = readFile(this.#path, 'utf8').then(parseHosts, () => new Map<string, readonly string[]>());
    }
    return (await this.#read).get(name.toLowerCase());
  }
}

function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names)
      hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address]);
  }
  return hosts;
}
