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

/**
 * As a store has it. Somebody may have changed it: what does not follow on what is listed before it, or is no segment at all,
 * is not listed, so that its events are in the tail. `version`: as the store knows it besides.
 */
export function manifestIn(text: string, version?: number): Manifest {
  try {
    const read = parseJson(text) as Manifest;
    const { removalsTo, building, segments, replaced, ...rest } = read;
    const isSound = [rest.version, rest.generation].every(Number.isSafeInteger) && Array.isArray(replaced);
    if (isSound)
      return {
        ...rest,
        version: version ?? rest.version,
        segments: inOrder(segments),
        replaced: replaced.filter(({ id, sinceMs }) => [id, sinceMs].every(Number.isSafeInteger)),
        ...(building === undefined ? {} : { building: inOrder(building) }),
        ...(Number.isSafeInteger(removalsTo) ? { removalsTo: removalsTo! } : {}),
      };
  } catch {
    // It lists nothing.
  }
  return { ...FIRST, version: version ?? FIRST.version };
}

/** From the beginning of the log, one behind the other. */
function inOrder(listed: readonly ListedSegment[]): readonly ListedSegment[] {
  let end = 0;
  const other = listed.findIndex(({ id, firstIndex, docs, lastLeaf }) => {
    const isSound = [id, firstIndex, docs].every(Number.isSafeInteger) && typeof lastLeaf === 'string';
    if (!isSound || docs <= 0 || firstIndex !== end) return true;
    end += docs;
    return false;
  });
  return other < 0 ? listed : listed.slice(0, other);
}

export function endOf(segments: readonly Pick<ListedSegment, 'firstIndex' | 'docs'>[]): number {
  const last = segments.at(-1);
  return last === undefined ? 0 : last.firstIndex + last.docs;
}

/**
 * Those that are of this log, up to the first that is not. A leaf says what all before it are, but all of them are asked for: a
 * rebuild that went on behind a restore lists segments of the old log before those of the new one, whose last leaf fits.
 */
export async function ofThisLog(
  tenant: TenantId,
  listed: readonly ListedSegment[],
  log: Pick<IndexedLog, 'leaves'>,
): Promise<readonly ListedSegment[]> {
  if (listed.length === 0) return listed;
  const leaves = await log.leaves(
    tenant,
    listed.map(({ firstIndex, docs }) => firstIndex + docs - 1),
  );
  const other = listed.findIndex(({ lastLeaf }, i) => hexOf(leaves[i]) !== lastLeaf);
  return other < 0 ? listed : listed.slice(0, other);
}

function hexOf(leaf: Uint8Array | undefined): string | undefined {
  return leaf === undefined ? undefined : Buffer.from(leaf).toString('hex');
}
