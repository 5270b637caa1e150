// Segments in PostgreSQL: a row for each block, and one for each tenant that lists its segments.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { endOf, type Manifest, manifestIn } from '../../event-index/store/manifest.ts';
import type {
  SegmentStore,
  StoredBlock,
  StoredSegments,
  WantedBlock,
} from '../../event-index/store/segment-store.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';
import type { TenantReads } from './tenant-reads.ts';

const MANIFEST = statement('SELECT body, version FROM index_manifests WHERE tenant_id = $1');
const ADD_MANIFEST = statement(
  `INSERT INTO index_manifests (tenant_id, version, end_index, is_building, body) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT DO NOTHING`,
);
const SWAP = statement(
  `UPDATE index_manifests SET version = $2, end_index = $3, is_building = $4, body = $5
   WHERE tenant_id = $1 AND version = $6`,
);
const PUT = statement(
  `INSERT INTO index_blocks (tenant_id, segment, block, bytes)
   SELECT $1, $2, put.block, put.bytes FROM unnest($3::integer[], $4::bytea[]) AS put (block, bytes)`,
);
const GET = statement(
  `SELECT segment, block, bytes FROM index_blocks
   JOIN unnest($2::bigint[], $3::integer[]) AS wanted (segment, block) USING (segment, block) WHERE tenant_id = $1`,
);
const REMOVE = statement('DELETE FROM index_blocks WHERE tenant_id = $1 AND segment = $2');
const IS_BUILDING = statement('SELECT 1 FROM index_manifests WHERE is_building LIMIT 1');
// What is lost with a crash is made again.
const NOT_DURABLY = statement('SET LOCAL synchronous_commit = off');

const nextIn = (table: string) =>
  statement(`SELECT tenant_id FROM ${table} WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1`);
// Somebody may have taken either away.
const NEXT_WITH_BLOCKS = nextIn('index_blocks');
const NEXT_WITH_SEGMENTS = nextIn('index_manifests');
const SWEEP = statement(
  'DELETE FROM index_blocks WHERE tenant_id = $1 AND segment < $2 AND NOT segment = ANY ($3::bigint[])',
);

/** Nobody takes longer to make a segment and to list it. */
const MAKING_MS_MAX = 3_600_000;
/** Behind the time in seconds. */
const RANDOM_BYTES = 3;
const RANDOM_MAX = 2 ** 20;

/** For those who only read. */
export class SegmentReads implements StoredSegments {
  readonly #reads: TenantReads;

  constructor(reads: TenantReads) {
    this.#reads = reads;
  }

  async manifest(tenant: TenantId): Promise<Manifest | undefined> {
    const [row] = await this.#reads.query(tenant, MANIFEST, [tenant]);
    return row === undefined ? undefined : manifestIn(textIn(row, 'body'), numberOf(row, 'version'));
  }

  async get(tenant: TenantId, wanted: readonly WantedBlock[]): Promise<(Buffer | undefined)[]> {
    const rows = await this.#reads.query(tenant, GET, [
      tenant,
      wanted.map(({ segment }) => segment),
      wanted.map(({ block }) => block),
    ]);
    const found = new Map(
      rows.map((row) => [`${numberOf(row, 'segment')} ${numberOf(row, 'block')}`, blobOf(row, 'bytes')]),
    );
    return wanted.map(({ segment, block }) => {
      const bytes = found.get(`${segment} ${block}`);
      return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    });
  }
}

export interface SegmentTablesParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly reads: TenantReads;
}

export class SegmentTables extends SegmentReads implements SegmentStore {
  readonly #parts: SegmentTablesParts;

  constructor(parts: SegmentTablesParts) {
    super(parts.reads);
    this.#parts = parts;
  }

  async swap(tenant: TenantId, version: number, next: Manifest): Promise<boolean> {
    const values = [
      tenant,
      next.version,
      endOf(next.segments),
      next.building !== undefined,
      JSON.stringify(next),
    ];
    const changed = await this.#parts.database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.query(NOT_DURABLY);
      return version === 0
        ? transaction.change(ADD_MANIFEST, values)
        : transaction.change(SWAP, [...values, version]);
    });
    return changed === 1;
  }

  newSegment(): number {
    const { clock, random } = this.#parts;
    const seconds = Math.floor(clock.now() / 1000);
    return (
      seconds * RANDOM_MAX +
      (Buffer.from(random.bytes(RANDOM_BYTES)).readUIntLE(0, RANDOM_BYTES) % RANDOM_MAX)
    );
  }

  async put(tenant: TenantId, segment: number, blocks: readonly StoredBlock[]): Promise<void> {
    await this.#parts.database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.query(NOT_DURABLY);
      await transaction.change(PUT, [
        tenant,
        segment,
        blocks.map(({ block }) => block),
        blocks.map(({ bytes }) => bytes),
      ]);
    });
  }

  async remove(tenant: TenantId, segment: number): Promise<void> {
    await this.#parts.database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.query(NOT_DURABLY);
      await transaction.change(REMOVE, [tenant, segment]);
    });
  }

  async nextTenant(after: TenantId | undefined): Promise<TenantId | undefined> {
    const { database } = this.#parts;
    const rows = await Promise.all(
      [NEXT_WITH_BLOCKS, NEXT_WITH_SEGMENTS].map((next) => database.read(ALL_TENANTS, next, [after ?? ''])),
    );
    const found = rows.flat().map((row) => textIn(row, 'tenant_id'));
    return found.length === 0 ? undefined : found.reduce((a, b) => (a < b ? a : b));
  }

  async sweep(tenant: TenantId, listed: readonly number[]): Promise<void> {
    const { database, clock } = this.#parts;
    const youngest = Math.floor((clock.now() - MAKING_MS_MAX) / 1000) * RANDOM_MAX;
    await database.inTransaction(ALL_TENANTS, (transaction) =>
      transaction.change(SWEEP, [tenant, youngest, listed]),
    );
  }

  async isBuilding(): Promise<boolean> {
    return (await this.#parts.database.read(ALL_TENANTS, IS_BUILDING)).length > 0;
  }
}
