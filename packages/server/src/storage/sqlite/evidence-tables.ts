// What an event is proven by: its entry, the roots of its groups, and its texts with the salts of their units. Seeds
// stay in the store; salts leave it only for those who may see the values that they belong to.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, TenantId } from '@tallystick/contract';
import { eventIdBytes, splitGroup } from '@tallystick/evidence';
import type { AlteredEvent, StoredEvidence } from '../../streams/tree.ts';
import { SEED_BYTES, saltsOf } from '../commitments.ts';
import { bitsOf, classificationIn } from '../rows/classification-column.ts';
import { MAY_BE_SEEN } from './may-be-seen.ts';
import { blobOf, numberOf } from '../rows/columns.ts';
import { CHECKED_COLUMNS, hasContent, indexIn, StoredContents, textsIn } from '../rows/stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

export class EvidenceTables {
  readonly #one: StatementSync;
  readonly #range: StatementSync;
  #contents: StoredContents | undefined;

  constructor(db: DatabaseSync) {
    const select = `SELECT ${CHECKED_COLUMNS} FROM entries LEFT JOIN contents USING (id)`;
    const tenant = (place: number) => `(SELECT tenant FROM tenants WHERE tenant_id = ?${place})`;
    this.#one = db.prepare(`${select} WHERE event_id = ?1 AND tenant = ${tenant(2)} AND ${MAY_BE_SEEN}`);
    this.#range = db.prepare(
      `${select} WHERE tenant = ${tenant(1)} AND leaf_index >= ?2 AND leaf_index < ?3 ORDER BY leaf_index LIMIT ?4`,
    );
    for (const statement of [this.#one, this.#range]) statement.setReadBigInts(true);
  }

  /** One whose text says a class among `visible` is given too, whatever its column says. */
  one(
    tenant: TenantId,
    eventId: EventId,
    visible: readonly Classification[],
  ): StoredEvidence | AlteredEvent | undefined {
    const row = this.#one.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    if (row === undefined) return undefined;
    this.#contents ??= new StoredContents();
    const [fault] = this.#contents.faultsOf([row]);
    return fault === undefined ? evidenceIn(row) : { index: indexIn(row), fault };
  }

  /** As they are stored, whatever that is. */
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
    content: hasContent(row) ? contentIn(row) : undefined,
  };
}

function contentIn(row: Row): NonNullable<StoredEvidence['content']> {
  const [one, two] = textsIn(row);
  const seeds = blobOf(row, 'seeds');
  return {
    texts: [decoder.decode(one), decoder.decode(two)],
    salts: [
      saltsOf(seeds.subarray(0, SEED_BYTES), splitGroup(one, 1).units.length),
      saltsOf(seeds.subarray(SEED_BYTES), splitGroup(two, 2).units.length),
    ],
  };
}
