// The background loops of the service.

import type { TenantId } from '@tallystick/contract';
import { startOwedNotices } from '../keys/owed-notices.ts';
import { readOwedNotices } from '../storage/keys/owed-notice-files.ts';
import { startIdempotencyKeySweeper } from '../streams/append/idempotency-key-sweeper.ts';
import { startLogWatch } from '../streams/append/log-watch.ts';
import { startSealer } from '../streams/append/sealer.ts';
import { startKeyringLoops } from './keyring-loops.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

export function startLoops(store: Store, surroundings: Surroundings): AsyncDisposable {
  const { storage, sequencer, checkpointer, witnessing, keyUses, followers, workers, sweeper, steadyNowMs } =
    store;
  const { config, clock, random, telemetry } = surroundings;
  const loops = new AsyncDisposableStack();
  const looping = { clock, random, telemetry };
  const sweeping = { ...looping, writer: storage.log, steadyNowMs };
  loops.use(startIdempotencyKeySweeper(sweeping));
  const refusedTenants = () => checkpointer.refusedTenants();
  loops.use(startSealer({ ...sweeping, streams: config.streams, refusedTenants }));
  loops.use(startLogWatch({ ...looping, sequencer }));
  loops.use(startKeyringLoops(store, surroundings));
  loops.use(store.exporting.startLoops());
  const read = () => readOwedNotices(config.storage.dataDirectory);
  const refusalOf = (tenant: TenantId) => checkpointer.refusalOf(tenant);
  loops.use(startOwedNotices({ ...looping, read, trees: storage.tree, refusalOf, sequencer }));
  checkpointer.start();
  witnessing?.start();
  keyUses.start();
  for (const follower of followers) follower.start();
  workers.start();
  sweeper.start();
  return loops;
}
