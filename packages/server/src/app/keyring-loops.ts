// What the service does about the keyring while it runs: it notices changes of the file, and destroys the keys of months that are over
// once all their content is removed.

import { type Loop, type LoopOptions, startLoop } from '../runtime/loop.ts';
import { destroyPastKeys } from '../storage/sealing/destroy-keys.ts';
import { versionOfKeyring } from '../storage/sealing/keyring-file.ts';
import { KEYRING_LOOK_MS } from '../storage/sealing/keyring-watch.ts';
import { StartError } from '../start-error.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

type Paces = Pick<LoopOptions, 'paceMs' | 'backOffMs' | 'backOffMsMax'>;

/** Until a changed keyring is read, its new keys open nothing here. */
const READING: Paces = { paceMs: KEYRING_LOOK_MS, backOffMs: 1000, backOffMsMax: 30_000 };
const DESTROYING: Omit<Paces, 'paceMs'> = { backOffMs: 10_000, backOffMsMax: 600_000 };

export function startKeyringLoops(
  { storage, keyringWatch: watch }: Pick<Store, 'storage' | 'keyringWatch'>,
  { config, clock, random, telemetry, keyring: place }: Surroundings,
): AsyncDisposable {
  const loops = new AsyncDisposableStack();
  const looping = (what: string, paces: Paces, turn: () => Promise<void>): Loop =>
    startLoop({
      clock,
      random,
      ...paces,
      turn,
      onFailure: ({ error }) => {
        if (error instanceof StartError) telemetry.altered('Keyring', `${what} failed`, error);
        else telemetry.warn(`${what} failed`, { cause: String(error) });
      },
      onBroken: (error) => telemetry.error(`${what} has stopped`, error),
    });
  loops.use(
    looping('reading the keyring', READING, async () => {
      await watch.look();
      telemetry.sound('Keyring');
    }),
  );
  loops.use(
    looping(
      'destroying the keys of past months',
      { ...DESTROYING, paceMs: config.retention.sweepInterval.ms },
      async () => {
        if (versionOfKeyring(place.path) === undefined) return;
        const gone = await destroyPastKeys({ keys: storage.tenantKeys, place, nowMs: clock.now() });
        for (const month of gone.months) telemetry.info('all keys of a month are destroyed', { month });
      },
    ),
  );
  return loops;
}
