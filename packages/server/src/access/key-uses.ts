// When API keys were last used. No request waits for this: uses are remembered here, and once a minute, and when the
// service stops, all of them are written together. A crash loses the uses of the last minute. A use grants nothing and
// leaves no notice, so it is kept apart from the key's record.

import type { KeyId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ApiKeyRecord } from './api-keys.ts';

/** Identifies a key. */
export type OwnedKey = Pick<ApiKeyRecord, 'keyId' | 'tenantId'>;

export interface KeyUse extends OwnedKey {
  readonly usedAtMs: number;
}

export interface KeyUseStore {
  /** No key occurs twice. The latest use of a key is kept, from any node. */
  keep(uses: readonly KeyUse[]): Promise<void>;
  /** By key id; a key that was never used is not in it. */
  lastUses(keys: readonly OwnedKey[]): Promise<ReadonlyMap<KeyId, number>>;
}

/** Dispose it after the last request, so that all uses are saved. */
export interface KeyUses extends AsyncDisposable {
  /** The key has authenticated a request. */
  used(key: OwnedKey, nowMs: number): void;
  /** Those that are kept, and those that this node has not written yet. */
  lastUses: KeyUseStore['lastUses'];
  start(): void;
}

export interface KeyUseParts {
  readonly store: KeyUseStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'warn' | 'error'>;
}

const PACE_MS = 60_000;
/** Rows per statement: appends wait behind it. */
const USES_MAX = 1000;

export function createKeyUses({ store, clock, random, telemetry }: KeyUseParts): KeyUses {
  const unwritten = new Map<KeyId, KeyUse>();
  let loop: Loop | undefined;

  const write = async (): Promise<void> => {
    const uses = [...unwritten.values()];
    for (let i = 0; i < uses.length; i += USES_MAX) {
      const portion = uses.slice(i, i + USES_MAX);
      await store.keep(portion);
      // A later use meanwhile waits for the next turn.
      for (const use of portion) if (unwritten.get(use.keyId) === use) unwritten.delete(use.keyId);
    }
  };
  const warn = (error: unknown) =>
    telemetry.warn('the last uses of API keys could not be saved', { cause: String(error) });

  return {
    used({ keyId, tenantId }, nowMs) {
      const known = unwritten.get(keyId);
      if (known === undefined || known.usedAtMs < nowMs)
        unwritten.set(keyId, { keyId, tenantId, usedAtMs: nowMs });
    },
    async lastUses(keys) {
      const found = new Map(await store.lastUses(keys));
      for (const { keyId } of keys) {
        const { usedAtMs } = unwritten.get(keyId) ?? {};
        if (usedAtMs !== undefined && usedAtMs > (found.get(keyId) ?? 0)) found.set(keyId, usedAtMs);
      }
      return found;
    },
    start() {
      loop ??= startLoop({
        clock,
        random,
        paceMs: PACE_MS,
        backOffMs: PACE_MS,
        backOffMsMax: PACE_MS,
        turn: write,
        onFailure: ({ error }) => warn(error),
        onBroken: (error) => telemetry.error('the last uses of API keys are no longer saved', error),
      });
    },
    async [Symbol.asyncDispose]() {
      await loop?.[Symbol.asyncDispose]();
      await write().catch(warn);
    },
  };
}
