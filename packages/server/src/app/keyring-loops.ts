// What the service does about the keyring while it runs: it notices changes of the file, and destroys the keys of months that are over
// once all their content is removed.

import { type Loop, startLoop } from '../runtime/loop.ts';
import { destroyPastKeys } from '../storage/sealing/destroy-keys.ts';
import { versionOfKeyring } from '../storage/sealing/keyring-file.ts';
import { KEYRING_LOOK_MS, KeyringWatch } from '../storage/sealing/keyring-watch.ts';
import { keyringOf } from '../storage/sealing/open-keyring.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

const BACK_OFF_MS = 10_000;
const BACK_OFF_MS_MAX = 600_000;

export function startKeyringLoops(
  { storage }: Pick<Store, 'storage'>,
  { config, clock, random, telemetry }: Surroundings,
): AsyncDisposable {
  const loops = new AsyncDisposableStack();
  const place = keyringOf(config);
  const watch = loops.use(new KeyringWatch(place));
  const looping = (what: string, paceMs: number, turn: () => Promise<void>): Loop =>
    startLoop({
      clock,
      random,
      paceMs,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn,
      onFailure: ({ error }) => telemetry.warn(`${what} failed`, { cause: String(error) }),
      onBroken: (error) => telemetry.error(`${what} has stopped`, error),
    });
  loops.use(looping('reading the keyring', KEYRING_LOOK_MS, () => watch.look()));
  loops.use(
    looping('destroying the keys of past months', config.retention.sweepInterval.ms, async () => {
      if (versionOfKeyring(place.path) === undefined) return;
      const gone = await destroyPastKeys({ keys: storage.tenantKeys, place, nowMs: clock.now() });
      for (const month of gone.months) telemetry.info('all keys of a month are destroyed', { month });
    }),
  );
  return loops;
}
