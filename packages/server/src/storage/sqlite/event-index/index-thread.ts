// The index thread: owns the one connection that writes to views.db. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { TenantId } from '@tallystick/contract';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { createSteadyTime } from '../../../runtime/steady-time.ts';
import { NO_SUCH_EVENT } from '../../event-index/index-letter.ts';
import { NOTHING_TO_BUILD } from '../../event-index/nothing-found.ts';
import { numberOf } from '../../rows/columns.ts';
import { openJournalForReading } from '../connection/database.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { IndexFollower } from './follower.ts';
import { LetterBox } from './letter-box.ts';
import { openViews } from './views-database.ts';

export interface IndexData {
  readonly directory: string;
  /** What is there is thrown away. */
  readonly isDamaged: boolean;
}

export type IndexMessage =
  | { readonly verb: 'Turn' }
  | { readonly verb: 'Build'; readonly tenant: TenantId }
  | { readonly verb: 'IndexAgain'; readonly tenant: TenantId; readonly index: number }
  /** Why the views that were there are thrown away; undefined if they are not. */
  | { readonly verb: 'Discarded' };

const { directory, isDamaged } = workerData as IndexData;
const journal = openJournalForReading(directory);
const { db, discarded } = openViews(directory, journal, isDamaged);
const nextId = createUlids(systemClock, createSystemRandom());
const letters = new LetterBox({ directory, nextId, nowMs: createSteadyTime(systemClock) });
const follower = new IndexFollower(journal, db, letters);

const findTenant = journal.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');

/** Undefined: nothing was ever logged under the name. */
function numberOfTenant(tenantId: TenantId): number | undefined {
  const row = findTenant.get(tenantId);
  return row === undefined ? undefined : numberOf(row, 'tenant');
}

serveThread<IndexMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Turn':
        return { value: follower.turn() };
      case 'Build': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant === undefined ? NOTHING_TO_BUILD : follower.build(tenant) };
      }
      case 'IndexAgain': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant === undefined ? NO_SUCH_EVENT : follower.indexAgain(tenant, message.index) };
      }
      case 'Discarded':
        return { value: discarded };
    }
  },
  stop() {
    letters[Symbol.dispose]();
    db.close();
    journal.close();
  },
});
