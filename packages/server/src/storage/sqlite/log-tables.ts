// Reads of the log, on a connection of their own: what they see is committed.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, OperationName, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type { StoredContent, StoredEvent, UsedKey } from '../../streams/log.ts';
import { blobOf, numberOf, numberOrNone, textIn } from './columns.ts';
import { CLASSIFICATIONS } from './schema.ts';
import { findUsedKey, usedKeyOf } from './used-keys.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class LogTables {
  readonly #tenant: StatementSync;
  readonly #event: StatementSync;
  readonly #usedKey: StatementSync;

  constructor(db: DatabaseSync) {
    this.#tenant = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    this.#event = db.prepare(
      `SELECT entry, leaf, classification, contents.id AS content_id, text1, text2, expires_at_ms,
         (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
          ORDER BY first_index DESC LIMIT 1) AS stream_id
       FROM entries LEFT JOIN contents USING (id)
       WHERE event_id = ? AND tenant = ? AND (? >> classification) & 1`,
    );
    this.#usedKey = findUsedKey(db);
  }

  event(tenantId: TenantId, eventId: EventId, visible: readonly Classification[]): StoredEvent | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#event.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    if (row === undefined) return undefined;
    const classification = CLASSIFICATIONS[numberOf(row, 'classification')];
    if (classification === undefined) throw new Error(`event ${eventId} has an unknown classification`);
    return {
      entry: blobOf(row, 'entry'),
      leaf: blobOf(row, 'leaf'),
      classification,
      streamId: textIn(row, 'stream_id'),
      content: row['content_id'] === null ? undefined : contentIn(row),
    };
  }

  usedKey(
    tenantId: TenantId,
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): UsedKey | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    return usedKeyOf(this.#usedKey.get(tenant, operation, key), steadyNowMs);
  }

  #numberOf(tenantId: TenantId): number | undefined {
    const row = this.#tenant.get(tenantId);
    return row === undefined ? undefined : numberOf(row, 'tenant');
  }
}

/** One bit for each classification, at its place in the list of the schema. */
function bitsOf(classifications: readonly Classification[]): number {
  return classifications.reduce((bits, each) => bits | (1 << CLASSIFICATIONS.indexOf(each)), 0);
}

function contentIn(row: Readonly<Record<string, unknown>>): StoredContent {
  return {
    texts: [decoder.decode(blobOf(row, 'text1')), decoder.decode(blobOf(row, 'text2'))],
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
  };
}
