// What the threads of a store are told about encryption: whose content is sealed, and the keyring.

import type { Classification } from '@tallystick/contract';
import { bitsOf } from '../rows/classification-column.ts';
import { StartError } from '../../start-error.ts';
import { Keyring, type RingData } from './keyring.ts';
import { PoolSealer, type PoolSealerOptions } from './pool-sealer.ts';
import { SealedRows } from './sealed-rows.ts';

/** Can be sent to threads. */
export interface SealingData {
  /** Undefined: there is nothing to open, and nothing is sealed. */
  readonly ring: RingData | undefined;
  /** Bits of the classifications whose content is sealed; 0: none. */
  readonly sealed: number;
}

/** Told which keys of the keyring have sealed keys of tenants; throws StartError without those. */
export type OpenSealing = (ringKeys: readonly string[]) => Promise<SealingData>;

export const NOTHING_SEALED: SealingData = { ring: undefined, sealed: 0 };

/** Throws StartError where the store was begun with another keyring. */
export function requireSettled({ place, keys }: RingData, ringKey: string): void {
  if (keys.some(({ id }) => id === ringKey)) return;
  throw new StartError(
    `the keyring ${place} is not the one of this store: it has no key ${ringKey}, with which the store was begun`,
  );
}

/** In one thread. */
export interface Sealing extends Disposable {
  /** For a thread that is started: with the keyring as it is by then. */
  readonly data: SealingData;
  readonly ring: Keyring | undefined;
  readonly rows: SealedRows;
  /** Made for each append. */
  readonly newSealer: (options?: PoolSealerOptions) => PoolSealer | undefined;
}

export function sealingWith({ ring: data, sealed }: SealingData): Sealing {
  const ring = data && new Keyring(data);
  return {
    data: {
      // Read when it is sent.
      get ring() {
        return ring?.data;
      },
      sealed,
    },
    ring,
    rows: new SealedRows(ring),
    newSealer: (options) =>
      ring === undefined || sealed === 0 ? undefined : new PoolSealer(sealed, options),
    [Symbol.dispose]: () => ring?.[Symbol.dispose](),
  };
}

export function sealedBits(classifications: readonly Classification[]): number {
  return bitsOf(classifications);
}
