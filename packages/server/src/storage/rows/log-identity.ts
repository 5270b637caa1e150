// The identity of a tenant's log, and its checkpoints as they are stored.

import type { TenantId } from '@tallystick/contract';
import { epochGenesisHash, EvidenceError, genesisHash, originOf } from '@tallystick/evidence';
import type { LogHead, StoredCheckpoint } from '../../streams/tree.ts';
import { numberOf, textIn } from './columns.ts';

/** One log of a tenant: the first one, or one after a restore. */
export interface LogIdentity<Tenant = TenantId> {
  /** As the database identifies it. */
  readonly tenant: Tenant;
  readonly epoch: number;
  readonly origin: string;
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  /** The hash that its first entry links to. */
  readonly genesis: Uint8Array;
}

type Row = Readonly<Record<string, unknown>>;

/** The facts with which a log began after a restore. */
export interface Beginning {
  readonly epoch: number;
  readonly firstIndex: number;
  readonly previousCheckpoint: string;
}

/** The first log of a tenant if no beginning is given. */
export function identityOf(
  tenant: TenantId,
  logOrigin: string,
  beginning?: Beginning,
): Omit<LogIdentity, 'tenant'> {
  const { epoch, firstIndex } = beginning ?? { epoch: 0, firstIndex: 0 };
  const origin = originOf({ tenant, epoch }, logOrigin);
  const genesis =
    beginning === undefined ? genesisHash(origin) : epochGenesisHash(origin, beginning.previousCheckpoint);
  return { epoch, firstIndex, origin, genesis };
}

export function headOf(
  { origin, epoch, firstIndex }: LogIdentity<unknown>,
  latest: StoredCheckpoint | undefined,
): LogHead {
  return { origin, epoch, firstIndex, latest };
}

export function checkpointIn(row: Row | undefined): StoredCheckpoint | undefined {
  if (row === undefined) return undefined;
  return {
    size: numberOf(row, 'size'),
    note: textIn(row, 'note'),
    publishedAtMs: numberOf(row, 'published_at_ms'),
  };
}

/** Throws EvidenceError for a checkpoint of another log or size: it must not be shown as one of this log. */
export function ofLog(
  { origin }: Pick<LogIdentity, 'origin'>,
  checkpoint: StoredCheckpoint | undefined,
): StoredCheckpoint | undefined {
  if (checkpoint === undefined || checkpoint.note.startsWith(`${origin}\n${checkpoint.size}\n`))
    return checkpoint;
  throw new EvidenceError(
    'ORIGIN_MISMATCH',
    `the checkpoint that is stored for size ${checkpoint.size} of ${origin} belongs to another log or size`,
  );
}
