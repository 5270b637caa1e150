// Segments in views.db. Blocks of a segment follow each other in one table, so that a whole one is written and removed in a
// stretch.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { BLOCKS_MAX } from '../../event-index/segments/segment-format.ts';
import { endOf, type Manifest, manifestIn } from '../../event-index/store/manifest.ts';
import type { SegmentStore, StoredBlock, WantedBlock } from '../../event-index/store/segment-store.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { inTransaction } from '../connection/database.ts';

/** Four megabytes. */
const FREE_PAGES_MIN = 1000;
const FREE_SHARE_MAX = 0.3;
/** At once: a few milliseconds. */
const PAGES_GIVEN_BACK = 500;

export class SegmentTables implements SegmentStore {
  readonly #db: DatabaseSync;
  readonly #manifest: StatementSync;
  readonly #get: StatementSync;
  readonly #ends = new Map<TenantId, number>();

  /** For those who read; `swap` and what follows it are for the one who writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#manifest = db.prepare('SELECT body FROM manifests WHERE tenant_id = ?');
    this.#get = db.prepare('SELECT bytes FROM blocks WHERE id = ?');
  }

  manifest(tenant: TenantId): Manifest | undefined {
    const row = this.#manifest.get(tenant);
    return row === undefined ? undefined : manifestIn(textIn(row, 'body'));
  }

  /** Where the segments of a log end, by what the only one who writes remembers. */
  indexedTo(tenant: TenantId): number {
    let end = this.#ends.get(tenant);
    if (end === undefined) this.#ends.set(tenant, (end = endOf(this.manifest(tenant)?.segments ?? [])));
    return end;
  }

  get(_tenant: TenantId, wanted: readonly WantedBlock[]): (Buffer | undefined)[] {
    return wanted.map(({ segment, block }) => {
      const row = this.#get.get(rowOf(segment, block));
      if (row === undefined) return undefined;
      const bytes = blobOf(row, 'bytes');
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    });
  }

  swap(tenant: TenantId, version: number, next: Manifest): boolean {
    return inTransaction(this.#db, () => {
      if ((this.manifest(tenant)?.version ?? 0) !== version) return false;
      this.#run(
        'INSERT OR REPLACE INTO manifests (tenant_id, body) VALUES (?, ?)',
        tenant,
        JSON.stringify(next),
      );
      this.#ends.set(tenant, endOf(next.segments));
      return true;
    });
  }

  newSegment(): number {
    return inTransaction(this.#db, () => {
      this.#run("UPDATE meta SET value = value + 1 WHERE name = 'segments'");
      return numberOf(this.#db.prepare("SELECT value FROM meta WHERE name = 'segments'").get(), 'value');
    });
  }

  put(_tenant: TenantId, segment: number, blocks: readonly StoredBlock[]): void {
    inTransaction(this.#db, () => {
      const add = this.#db.prepare('INSERT INTO blocks (id, bytes) VALUES (?, ?)');
      for (const { block, bytes } of blocks) add.run(rowOf(segment, block), bytes);
    });
  }

  remove(_tenant: TenantId, segment: number): void {
    this.#run('DELETE FROM blocks WHERE id >= ? AND id < ?', rowOf(segment), rowOf(segment + 1));
  }

  nextTenant(after: TenantId | undefined): TenantId | undefined {
    const sql = 'SELECT tenant_id FROM manifests WHERE tenant_id > ? ORDER BY tenant_id LIMIT 1';
    const row = this.#db.prepare(sql).get(after ?? '');
    return row === undefined ? undefined : textIn(row, 'tenant_id');
  }

  /** The one who writes has removed them when it started. */
  sweep(): void {}

  /** Gives back some of the space that removed blocks have left, where it is much; merges use the rest again. */
  giveBackSpace(): void {
    const pages = this.#db.prepare(
      'SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count',
    );
    const row = pages.get();
    const free = numberOf(row, 'freelist_count');
    if (free > FREE_PAGES_MIN && free > numberOf(row, 'page_count') * FREE_SHARE_MAX)
      this.#db.exec(`PRAGMA incremental_vacuum(${PAGES_GIVEN_BACK})`);
  }

  /** Whether the index of any tenant is being rebuilt. */
  isBuilding(): boolean {
    const sql =
      "SELECT 1 FROM manifests WHERE json_valid(body) AND json_extract(body, '$.building') IS NOT NULL LIMIT 1";
    return this.#db.prepare(sql).get() !== undefined;
  }

  /** Those that no manifest lists: they were being made when the last one who writes ended. */
  removeUnlisted(): void {
    const listed = new Set<number>();
    for (const row of this.#db.prepare('SELECT body FROM manifests').all()) {
      const { segments, replaced, building = [] } = manifestIn(textIn(row, 'body'));
      for (const { id } of [...segments, ...replaced, ...building]) listed.add(id);
    }
    for (const segment of this.#segments()) if (!listed.has(segment)) this.remove('', segment);
  }

  *#segments(): Generator<number> {
    const next = this.#db.prepare('SELECT min(id) AS id FROM blocks WHERE id >= ?');
    for (let from = 0; ; ) {
      const row = next.get(from);
      if (row?.['id'] === null || row === undefined) return;
      const segment = Math.floor(numberOf(row, 'id') / BLOCKS_MAX);
      yield segment;
      from = rowOf(segment + 1);
    }
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#db.prepare(sql).run(...values);
  }
}

/** The number of a row is that of the segment, and behind it that of the block. */
function rowOf(segment: number, block = 0): number {
  return segment * BLOCKS_MAX + block;
}
