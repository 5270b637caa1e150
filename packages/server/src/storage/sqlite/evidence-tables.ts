// What an event is proven by: its entry, the roots of its groups, and its texts with the salts of their units. Seeds
// stay in the store; salts leave it only for those who may see the values that they belong to.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, TenantId } from '@tallystick/contract';
import { eventIdBytes, splitGroup } from '@tallystick/evidence';
import type { StoredEvidence } from '../../streams/tree.ts';
import { SEED_BYTES, saltsOf } from '../commitments.ts';
import { blobOf, numberOf } from './columns.ts';
import { bitsOf, classificationIn } from './classification-column.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

export class EvidenceTables {
  readonly #one: StatementSync;
  readonly #range: StatementSync;

  constructor(db: DatabaseSync) {
    const select = `SELECT leaf_index, classification, entry, root1, root2, contents.id AS content_id, text1, text2, seeds
       FROM entries LEFT JOIN contents USING (id)`;
    const tenant = '(SELECT tenant FROM tenants WHERE tenant_id = ?)';
    this.#one = db.prepare(
      `${select} WHERE event_id = ? AND tenant = ${tenant} AND (? >> classification) & 1`,
    );
    this.#range = db.prepare(
      `${select} WHERE tenant = ${tenant} AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index LIMIT ?`,
    );
  }

  one(tenant: TenantId, eventId: EventId, visible: readonly Classification[]): StoredEvidence | undefined {
    const row = this.#one.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    return row === undefined ? undefined : evidenceIn(row);
  }

  range(tenant: TenantId, fromIndex: number, endIndex: number, limit: number): StoredEvidence[] {
    return this.#range.all(tenant, fromIndex, endIndex, limit).map(evidenceIn);
  }
}

function evidenceIn(row: Row): StoredEvidence {
  return {
    index: numberOf(row, 'leaf_index'),
    classification: classificationIn(row),
    entry: blobOf(row, 'entry'),
    roots: [blobOf(row, 'root1'), blobOf(row, 'root2')],
    content: row['content_id'] === null ? undefined : contentIn(row),
  };
}

function contentIn(row: Row): NonNullable<StoredEvidence['content']> {
  const [one, two] = [blobOf(row, 'text1'), blobOf(row, 'text2')];
  const seeds = blobOf(row, 'seeds');
  return {
    texts: [decoder.decode(one), decoder.decode(two)],
    salts: [
      saltsOf(seeds.subarray(0, SEED_BYTES), splitGroup(one, 1).units.length),
      saltsOf(seeds.subarray(SEED_BYTES), splitGroup(two, 2).units.length),
    ],
  };
}
