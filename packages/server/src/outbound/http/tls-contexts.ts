// What TLS connections are made with: the authorities that verify the peer, and our own certificate for peers that ask for one.
// Making it takes a millisecond, so it is kept, for a bounded number of peers and until it has not been used for a while.

import { hash } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';

/** In PEM. */
export interface TlsMaterial {
  /** Verifies the certificate of the peer, in the place of the authorities that the system trusts. */
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

const KEPT_MAX = 200;
const KEPT_MS = 600_000;

interface Kept {
  readonly context: SecureContext;
  usedNs: number;
}

export class TlsContexts {
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Throws what Node says of material that cannot be used. `name` is that of the material. */
  for(name: string, { ca, certificate, key }: TlsMaterial): SecureContext {
    const nowNs = this.#clock.monotonicNs();
    const kept = this.#kept.get(name) ?? {
      context: createSecureContext({
        minVersion: 'TLSv1.2',
        ...(ca !== undefined && { ca }),
        ...(certificate !== undefined && { cert: certificate }),
        ...(key !== undefined && { key }),
      }),
      usedNs: nowNs,
    };
    kept.usedNs = nowNs;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    this.#dropUnused(nowNs);
    return kept.context;
  }

  #dropUnused(nowNs: number): void {
    for (const [name, { usedNs }] of this.#kept) {
      if (this.#kept.size <= KEPT_MAX && nowNs - usedNs <= KEPT_MS * 1e6) return;
      this.#kept.delete(name);
    }
  }
}

/** Connections are shared by requests with the same name only: one that proves who we are is not for others. */
export function nameOfMaterial(material: TlsMaterial | undefined): string {
  if (material === undefined) return '';
  const { ca, certificate, key } = material;
  return hash('sha256', JSON.stringify([ca, certificate, key]));
}
