// The index thread: owns the one connection that writes to views.db. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { TenantId } from '@tallystick/contract';
import type { RowsWish } from '../../../paging.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { numberOf } from '../../rows/columns.ts';
import { openJournalForReading } from '../database.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { IndexFollower } from './follower.ts';
import type { RebuildRequest } from './rebuilds.ts';
import { openViews } from './views-database.ts';

export interface IndexData {
  readonly directory: string;
  /** What is there is thrown away. */
  readonly isDamaged: boolean;
}

export type IndexMessage =
  | { readonly verb: 'Turn'; readonly nowMs: number }
  | { readonly verb: 'BeginRebuild'; readonly tenant: TenantId; readonly request: RebuildRequest }
  | { readonly verb: 'FindRebuild'; readonly tenant: TenantId; readonly operationId: string }
  | { readonly verb: 'Letters'; readonly tenant: TenantId; readonly wish: RowsWish }
  | { readonly verb: 'LetterCount'; readonly tenant: TenantId }
  | { readonly verb: 'LetterCountOfAll' }
  | {
      readonly verb: 'Reprocess';
      readonly tenant: TenantId;
      readonly messageId: string;
      readonly nowMs: number;
    }
  /** Why the views that were there are thrown away; undefined if they are not. */
  | { readonly verb: 'Discarded' };

const { directory, isDamaged } = workerData as IndexData;
const journal = openJournalForReading(directory);
const { db, discarded } = openViews(directory, journal, isDamaged);
const clock = systemClock;
const nextId = createUlids(clock, createSystemRandom());
const follower = new IndexFollower(journal, db, { nextId, clock });

const findTenant = journal.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');

function numberOfTenant(tenantId: TenantId): number | undefined {
  const row = findTenant.get(tenantId);
  return row === undefined ? undefined : numberOf(row, 'tenant');
}

serveThread<IndexMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Turn':
        return { value: follower.turn(message.nowMs) };
      case 'BeginRebuild': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant && follower.beginRebuild(tenant, message.request) };
      }
      case 'FindRebuild': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant && follower.findRebuild(tenant, message.operationId) };
      }
      case 'Letters': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant === undefined ? [] : follower.letters.list(tenant, message.wish) };
      }
      case 'LetterCount': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant === undefined ? 0 : follower.letters.count(tenant) };
      }
      case 'LetterCountOfAll':
        return { value: follower.letters.countOfAll() };
      case 'Reprocess': {
        const tenant = numberOfTenant(message.tenant);
        return { value: tenant && follower.reprocess(tenant, message.messageId, message.nowMs) };
      }
      case 'Discarded':
        return { value: discarded };
    }
  },
  stop() {
    db.close();
    journal.close();
  },
});
