// Continues logs whose anchor is lost: each gets a notice of the loss, with the newest checkpoint that is stored of
// it, and only then is that checkpoint anchored, so that the service serves the log again. A crash between the two leaves
// notices, and a log that is still refused; asked again it gets another notice. Nobody else may use the store meanwhile.

import type { TenantId } from '@tallystick/contract';
import {
  ANCHOR_LOSS_ACCEPTED,
  equalBytes,
  EvidenceError,
  fromBase64,
  KINDS,
  type NoticePayload,
  noteVerifier,
  openCheckpoint,
  parseJson,
  toBase64,
} from '@tallystick/evidence';
import { outcomeOf } from '../keys/rotation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Storage } from '../storage/storage.ts';
import type { Anchor, AnchoredHead } from '../streams/anchor/anchor.ts';
import type { AppendRequest } from '../streams/log.ts';
import { draftNotice } from '../streams/append/notice.ts';
import { rootOf } from '../streams/anchor/divergence.ts';
import type { LogTree } from '../streams/tree.ts';
import type { UnanchoredLog } from '../streams/anchor/unanchored.ts';

export interface AcceptedLosses {
  /** Logs that have their notice and are anchored again. */
  readonly accepted: readonly UnanchoredLog[];
  /** Logs that are damaged or could not be written to, and why: they stay as they are. */
  readonly without: ReadonlyMap<TenantId, string>;
}

export interface AcceptParts {
  readonly storage: Pick<Storage, 'log' | 'tree' | 'forgetRefusals'>;
  readonly anchor: Pick<Anchor, 'heads' | 'append'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly nextId: () => string;
  /** A UUID for all notices. */
  readonly correlationId: string;
  /** The keys that may have signed the log of this origin. */
  readonly verifierKeys: (origin: string) => readonly string[];
}

const LOGS_IN_A_COMMIT = 100;

export async function acceptLosses(
  logs: readonly UnanchoredLog[],
  parts: AcceptParts,
): Promise<AcceptedLosses> {
  const without = new Map<TenantId, string>();
  const sound: { readonly log: UnanchoredLog; readonly heads: readonly AnchoredHead[] }[] = [];
  for (const log of logs) {
    const heads = await storedHeads(log, parts);
    if (typeof heads === 'string') without.set(log.tenant, heads);
    else sound.push({ log, heads });
  }
  const told: typeof sound = [];
  const requestId = parts.nextId();
  for (let i = 0; i < sound.length; i += LOGS_IN_A_COMMIT) {
    const portion = sound.slice(i, i + LOGS_IN_A_COMMIT);
    const nowMs = parts.clock.now();
    const requests = portion.map(({ log }) => noticeFor(log, { ...parts, requestId, nowMs }));
    const results = await parts.storage.log.append(requests, { nowMs, steadyNowMs: nowMs });
    for (const [at, each] of portion.entries()) {
      const outcome = outcomeOf(results[at]);
      if (outcome === 'Appended') told.push(each);
      else without.set(each.log.tenant, outcome);
    }
  }
  const heads = told.flatMap((each) => each.heads);
  await parts.anchor.append(newHeads(heads, parts.anchor));
  await parts.storage.forgetRefusals(told.map(({ log }) => log.tenant));
  return { accepted: told.map(({ log }) => log), without };
}

function noticeFor(
  { tenant, signed }: UnanchoredLog,
  { nextId, correlationId, requestId, nowMs }: AcceptParts & { requestId: string; nowMs: number },
): AppendRequest {
  const draft = draftNotice(
    {
      kind: KINDS.administration,
      action: 'Accept.AnchorLoss',
      resource: { resourceType: 'Log', resourceId: signed.origin },
      payload: {
        act: ANCHOR_LOSS_ACCEPTED,
        requestId,
        subjectIds: [],
        count: 1,
        signedSize: signed.size,
        signedRoot: toBase64(signed.root),
      },
      correlationId,
    },
    { eventId: nextId(), nowMs },
  );
  return { tenant, drafts: [draft], atomic: true };
}

/**
 * What the store knows to have been signed of the tenant's log and of those before it, or why it cannot be told. Those before
 * are over, but were anchored as well: without them a verifier would miss them.
 */
async function storedHeads({ tenant }: UnanchoredLog, parts: AcceptParts): Promise<AnchoredHead[] | string> {
  const { tree, log } = parts.storage;
  const heads: AnchoredHead[] = [];
  for (let each = await tree.forTenant(tenant).tree(); each !== undefined; ) {
    const { epoch, firstIndex } = each;
    const head = await signedHead(each, parts);
    if (head === 'Unsound')
      return `the newest checkpoint of ${each.origin} is not signed, or not that of its entries; restore an undamaged copy`;
    if (head !== undefined) heads.push(head);
    if (epoch > 0) {
      const [first] = await log.forTenant(tenant).events(firstIndex, firstIndex + 1, 1);
      if (first?.content === undefined || !('texts' in first.content))
        return `the notice that ${each.origin} begins with cannot be read; restore an undamaged copy`;
      heads.push(formerHead(first.content.texts[1]));
    }
    each = firstIndex === 0 ? undefined : await tree.forTenant(tenant).tree(firstIndex - 1);
  }
  return heads;
}

/** The anchor takes nothing back: what it is told must be what was signed, and what is there. */
async function signedHead(
  tree: LogTree,
  { verifierKeys }: AcceptParts,
): Promise<AnchoredHead | 'Unsound' | undefined> {
  const { origin } = tree;
  const verifiers = await Promise.all(verifierKeys(origin).map(noteVerifier));
  try {
    const latest = await tree.latest();
    if (latest === undefined) return undefined;
    const { size, root } = await openCheckpoint(latest.note, { origin, verifiers });
    return isSame(root, await rootOf(tree, size)) ? { origin, size, root } : 'Unsound';
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return 'Unsound';
  }
}

/** The end of the log before, as a notice of kind 7 names it. */
function formerHead(text: string): AnchoredHead {
  const { payload } = parseJson(text) as { payload: NoticePayload<typeof KINDS.newEpoch> };
  const { previousOrigin: origin, anchoredSize: size, anchoredRoot } = payload;
  return { origin, size, root: fromBase64(anchoredRoot) };
}

/** Of each log the largest, where the anchor does not know so much. */
function newHeads(heads: readonly AnchoredHead[], anchor: Pick<Anchor, 'heads'>): AnchoredHead[] {
  const newest = new Map(anchor.heads());
  for (const head of heads)
    if (head.size > (newest.get(head.origin)?.size ?? 0)) newest.set(head.origin, head);
  return [...newest.values()].filter((head) => anchor.heads().get(head.origin) !== head);
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return other !== undefined && equalBytes(one, other);
}
