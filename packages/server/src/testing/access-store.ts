// Keys and tenants on a real store without threads, for tests; gone when it is disposed.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Access, createAccess } from '../access/access.ts';
import type { NamedRecord } from '../records/kept-records.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom, type Random } from '../runtime/random.ts';
import { append } from '../storage/conformance/claims.ts';
import type { Storage } from '../storage/storage.ts';
import { openPlainStore } from './plain-store.ts';

export interface AccessStore extends AsyncDisposable {
  readonly directory: string;
  readonly storage: Storage;
  readonly access: Access;
  readonly clock: FakeClock;
  readonly random: Random;
  readonly nextId: () => string;
  /** Records that were found and not believed. */
  readonly forged: NamedRecord[];
}

const MAC_KEYS = [new Uint8Array(32).fill(7)];

/** In a directory of its own, or beside another one in the same. */
export async function openAccessStore(beside?: AccessStore): Promise<AccessStore> {
  const directory = beside?.directory ?? mkdtempSync(join(tmpdir(), 'tallystick-access-'));
  const storage = await openPlainStore(directory);
  const clock = createFakeClock();
  const random = createSystemRandom();
  const nextId = createUlids(clock, random);
  const forged: NamedRecord[] = [];
  const access = createAccess({
    ...storage,
    logOrigin: () => storage.logOrigin,
    signing: { macKeys: () => MAC_KEYS, reload: async () => {} },
    append: (request) => append(storage, request, { nowMs: clock.now(), steadyNowMs: clock.now() }),
    clock,
    random,
    nextId,
    onForged: (record) => void forged.push(record),
  });
  return {
    directory,
    storage,
    access,
    clock,
    random,
    nextId,
    forged,
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      if (beside === undefined) rmSync(directory, { recursive: true });
    },
  };
}
