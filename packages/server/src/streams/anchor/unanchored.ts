// Logs that were signed further than the anchor knows. A checkpoint is anchored before it is stored: so the anchor was lost,
// put back to an earlier state, or is another one, and nothing tells whether the store was put back as well. Such a log must
// not go on until somebody has accepted that by `tallystick recover --accept-lost-anchor`.

import type { TenantId } from '@tallystick/contract';
import { EMPTY_ROOT, logNamed } from '@tallystick/evidence';
import type { AnchoredHead, ReadAnchor } from './anchor.ts';
import type { Standing } from '../tree.ts';

export interface UnanchoredLog {
  readonly tenant: TenantId;
  /** The newest stored checkpoint of the log that is written to now; of size 0 where it has none. */
  readonly signed: AnchoredHead;
  /** How far the anchor knows that log. */
  readonly anchoredSize: number;
  /** What happened and what to do, for people. */
  readonly message: string;
}

interface Known {
  readonly anchor: Pick<ReadAnchor, 'heads' | 'isMissing'>;
  readonly logOrigin: string;
}

const TO_GO_ON =
  'put the anchor back, or name its place by Log__Anchor; if it is lost, stop the service and run `tallystick recover --accept-lost-anchor`';

/**
 * Those among the logs of which the anchor, as it was read after them, knows less than was signed. Where it knows nothing at
 * all these are all logs: one without a checkpoint may have been put back to before its first.
 */
export function findUnanchored(standings: readonly Standing[], known: Known): UnanchoredLog[] {
  const isLost = isAnchorLost(standings, known);
  const heads = known.anchor.heads();
  const tenants = tenantsIn(known);
  return standings.flatMap((standing) => {
    const { tenant, origin, epoch, checkpoint, fault } = standing;
    const anchoredSize = heads.get(origin)?.size ?? 0;
    const isBeyond = (checkpoint?.size ?? 0) > anchoredSize;
    // Its own first checkpoint may be still to come; but no epoch begins unless the one before was anchored.
    const isUnknown = epoch > 0 && !tenants.has(tenant);
    // A log that cannot be read is refused for that.
    if (fault !== undefined || !(isLost || isBeyond || isUnknown)) return [];
    return [unanchored(standing, anchoredSize)];
  });
}

/**
 * Whether the anchor knows no log of this installation, although some were signed. Logs that are not signed, and no anchor at
 * all, are a loss too: only the checkpoints of such a store can have been deleted.
 */
export function isAnchorLost(standings: readonly Standing[], known: Known): boolean {
  const isExpected = standings.some(isSigned) || (known.anchor.isMissing === true && standings.length > 0);
  return isExpected && tenantsIn(known).size === 0;
}

function tenantsIn({ anchor, logOrigin }: Known): ReadonlySet<TenantId> {
  return new Set([...anchor.heads().keys()].flatMap((origin) => logNamed(origin, logOrigin)?.tenant ?? []));
}

/** A log in a later epoch was signed in the one before. */
export function isSigned({ checkpoint, epoch }: Standing): boolean {
  return checkpoint !== undefined || epoch > 0;
}

/** One line, for a start that is refused. */
export function lostAnchorMessage(place: string): string {
  return `the anchor in ${place} knows none of the logs that were signed, so a rollback cannot be ruled out: ${TO_GO_ON}`;
}

function unanchored(standing: Standing, anchoredSize: number): UnanchoredLog {
  const { tenant, origin, checkpoint } = standing;
  const signed = { origin, size: checkpoint?.size ?? 0, root: checkpoint?.root ?? EMPTY_ROOT };
  const has = signed.size === 0 ? 'it has no checkpoint' : `it was signed with ${signed.size} entries`;
  const knows = anchoredSize === 0 ? 'nothing of it' : `only ${anchoredSize} of them`;
  const message = `${has}, and the anchor knows ${knows}, so a rollback cannot be ruled out: ${TO_GO_ON}.`;
  return { tenant, signed, anchoredSize, message };
}
