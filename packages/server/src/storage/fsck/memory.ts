// Heads that are remembered outside the database: those in the anchor, and checkpoints that the caller has seen. The
// anchor of a running service grows, so it is read twice: heads from before the database was read must be in it, and
// signed checkpoints of the database must be in the anchor as it was read afterwards.

import { EvidenceError } from '@tallystick/evidence';
import type { AnchoredHead, AnchorHistory } from '../../streams/anchor/anchor.ts';
import { AnchorFiles } from '../anchor/files.ts';
import { AnchorDamage } from '../anchor/format.ts';
import { mergeHistories } from '../anchor/merge.ts';
import { fault } from './store-fault.ts';
import type { RememberedHead } from './remembered-head.ts';
import type { Memory } from './tenant.ts';

export type Heads = ReadonlyMap<string, AnchoredHead>;

/** All heads in the files of an anchor. Undefined if there is none; throws EvidenceError if it is damaged. */
export async function readAnchorHistoryAt(place: string): Promise<AnchorHistory | undefined> {
  try {
    const files = await new AnchorFiles(place).readAll();
    return files.length === 0 ? undefined : mergeHistories(files);
  } catch (error) {
    if (!(error instanceof Error && error.cause instanceof AnchorDamage)) throw error;
    throw fault('CHECKSUM_MISMATCH', error.message);
  }
}

export interface AnchorSnapshots {
  readonly before: Heads;
  readonly behind: Heads;
  /** All heads that the anchor still has: the store must agree with them at every size that it reaches. */
  readonly history?: AnchorHistory;
}

export interface Remembered {
  /** Undefined: the anchor is missing; an error: it is damaged. */
  readonly anchor: AnchorSnapshots | EvidenceError | undefined;
  /** Checkpoints that the caller has seen. */
  readonly seen: readonly AnchoredHead[];
}

export function createMemory(remembered: Remembered): Memory {
  const { seen } = remembered;
  const anchor = snapshotsIn(remembered);
  return {
    heads(origin) {
      const heads: RememberedHead[] = seen.filter((head) => head.origin === origin).map(asSeen);
      const [before, behind] = [anchor?.before.get(origin), anchor?.behind.get(origin)];
      if (before !== undefined) heads.push(asAnchored(before));
      if (behind !== undefined && behind.size !== before?.size)
        heads.push({ ...behind, how: 'anchored', mustBeReached: false });
      for (const head of anchor?.history?.get(origin) ?? [])
        if (head.size !== before?.size && head.size !== behind?.size)
          heads.push({ ...head, how: 'anchored', mustBeReached: false });
      // The empty tree has nothing to compare.
      return heads.filter(({ size }) => size > 0).sort((a, b) => a.size - b.size);
    },
    anchoredSize: (origin) => (hasHeads(anchor) ? (anchor.behind.get(origin)?.size ?? 0) : undefined),
  };
}

/** All remembered heads that require a log. */
export function headsRemembered(remembered: Remembered): RememberedHead[] {
  const anchored = snapshotsIn(remembered)?.before.values() ?? [];
  return [...Array.from(anchored, asAnchored), ...remembered.seen.map(asSeen)];
}

function asAnchored(head: AnchoredHead): RememberedHead {
  return { ...head, how: 'anchored', mustBeReached: true };
}

function asSeen(head: AnchoredHead): RememberedHead {
  return { ...head, how: 'seen', mustBeReached: true };
}

/** The fault of the anchor itself, once it is known whether anything was signed. */
export function anchorFault({ anchor }: Remembered, isSigned: boolean): EvidenceError | undefined {
  if (anchor instanceof EvidenceError) return anchor;
  if (hasHeads(anchor) || !isSigned) return undefined;
  // An intruder who removed it could have put the store back as well.
  const what = anchor === undefined ? 'there is no anchor' : 'there is no anchor but an empty one';
  return fault(
    'HISTORY_UNPROVEN',
    `${what}, although logs were signed: a rollback cannot be ruled out. If it is kept elsewhere (Log__Anchor), name that place; if it is lost, go on by \`tallystick recover --accept-lost-anchor\``,
  );
}

/** A start creates an empty one if it is missing. */
function hasHeads(anchor: AnchorSnapshots | undefined): anchor is AnchorSnapshots {
  return anchor !== undefined && anchor.behind.size > 0;
}

function snapshotsIn({ anchor }: Remembered): AnchorSnapshots | undefined {
  return anchor instanceof EvidenceError ? undefined : anchor;
}
