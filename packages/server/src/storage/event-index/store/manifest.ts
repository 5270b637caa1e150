// The list of a tenant's segments.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { IndexedLog } from './segment-store.ts';

/** The segments of a tenant's index, one behind the other from the beginning of the log. What is beyond them is its tail. */
export interface Manifest {
  /** Another one each time that it is changed. */
  readonly version: number;
  /** How many times the index has been made, from 1. */
  readonly generation: number;
  readonly segments: readonly ListedSegment[];
  /** Of what notices before this index have removed, nothing is in the segments. None: of no notice. */
  readonly removalsTo?: number;
  /** Segments that others have taken the place of: a search that has begun may still read them. */
  readonly replaced: readonly { readonly id: number; readonly sinceMs: number }[];
  /** Of the index that is being made in place of this one; it has none before. */
  readonly building?: readonly ListedSegment[];
}

export interface ListedSegment {
  readonly id: number;
  readonly firstIndex: number;
  readonly docs: number;
  /** Of the last event: a segment of another log is found out by it. */
  readonly lastLeaf: string;
}

/** Of a tenant that has none yet. */
export const FIRST: Manifest = { version: 0, generation: 1, segments: [], replaced: [] };

/** As a store has it. One that somebody has made unreadable lists nothing, so that all is made again. */
export function manifestIn(text: string, version = 0): Manifest {
  try {
    const manifest = parseJson(text) as Manifest;
    const lists = [manifest.segments, manifest.building ?? [], manifest.replaced];
    if (lists.every(Array.isArray) && manifest.segments.every(isListed)) return manifest;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  return { ...FIRST, version };
}

function isListed({ id, firstIndex, docs }: ListedSegment): boolean {
  return [id, firstIndex, docs].every(Number.isSafeInteger) && docs > 0;
}

export function endOf(segments: readonly Pick<ListedSegment, 'firstIndex' | 'docs'>[]): number {
  const last = segments.at(-1);
  return last === undefined ? 0 : last.firstIndex + last.docs;
}

/** Those that are of this log and follow one another, up to the first that does not. */
export async function ofThisLog(
  tenant: TenantId,
  listed: readonly ListedSegment[],
  log: Pick<IndexedLog, 'leaf'>,
): Promise<readonly ListedSegment[]> {
  const leaves = await Promise.all(
    listed.map(async ({ firstIndex, docs }) => log.leaf(tenant, firstIndex + docs - 1)),
  );
  const other = listed.findIndex(
    ({ firstIndex, lastLeaf }, i) =>
      firstIndex !== endOf(listed.slice(0, i)) || hexOf(leaves[i]) !== lastLeaf,
  );
  return other < 0 ? listed : listed.slice(0, other);
}

function hexOf(leaf: Uint8Array | undefined): string | undefined {
  return leaf === undefined ? undefined : Buffer.from(leaf).toString('hex');
}
