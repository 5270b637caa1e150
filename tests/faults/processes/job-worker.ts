// A worker in a process of its own, to be killed. Tells its parent when it begins a job and when it has done its work, by the
// clock that all processes of a machine share. `WORK_UNFENCED` keeps no lease, for the control.

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../../packages/server/src/runtime/random.ts';
import { STREAMS } from '../../../packages/server/src/storage/conformance/claims.ts';
import { openPostgresStorage } from '../../../packages/server/src/storage/postgres/postgres-storage.ts';
import { openSqliteStorage } from '../../../packages/server/src/storage/sqlite/sqlite-storage.ts';
import type { WorkStore } from '../../../packages/server/src/work/jobs.ts';
import { createWorkers } from '../../../packages/server/src/work/workers.ts';

const place = process.argv[2]!;
const isUnfenced = process.env['WORK_UNFENCED'] !== undefined;
const random = createSystemRandom();
const options = { logOrigin: 'jobs.test', streams: STREAMS, clock: systemClock, random };
const onFatal = (error: Error) => {
  throw error;
};
const storage = place.startsWith('postgres')
  ? await openPostgresStorage({ ...options, url: place, mayMigrate: false })
  : await openSqliteStorage({ ...options, directory: place, threads: true, exclusive: true, onFatal });
/** It believes to hold what it does not. */
const unfenced: WorkStore = {
  ...storage.work,
  renew: (claims) => Promise.resolve(claims.map(() => true)),
};
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

createWorkers({
  store: isUnfenced ? unfenced : storage.work,
  clock: systemClock,
  random,
  telemetry: { error() {}, warn() {} },
  // Longer than a busy machine lets a process stand still.
  leaseMs: isUnfenced ? 30 : 2500,
  kinds: [
    {
      kind: 'Verification',
      atOnce: 4,
      perLane: 4,
      // A job whose holders were killed this often is given up; here all are killed on purpose.
      attemptsMax: 100,
      async handle({ jobId }, { signal }) {
        process.send?.({ what: 'begin', jobId, atMs: nowMs() });
        // A handler that does not look at its signal is what the control needs.
        for (let i = 0; i < (isUnfenced ? 40 : 8); i++) {
          if (signal.aborted && !isUnfenced) break;
          await sleep(5 + random.fraction() * 10);
        }
        process.send?.({ what: 'end', jobId, atMs: nowMs() });
        return { status: 'Done', result: '"done"', keepMs: 3_600_000 };
      },
    },
  ],
}).start();
process.send?.({ what: 'ready' });
