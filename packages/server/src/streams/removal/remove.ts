// Removes the content of whole ranges of a log. The notice comes first, then a signed and anchored checkpoint over it,
// then the deletion, then what the index has of it: a crash leaves a notice without its effect, never an effect without its notice. From the commit of
// the notice on, every read shows the tombstone. A repeat for the same ranges finishes the work. Entries and group
// roots stay, so that every proof ever given stays valid.

import { ok as assert } from 'node:assert/strict';
import type { EventId, TenantId } from '@tallystick/contract';
import { type IndexRange, KINDS, type NoticePayload, subtreesOf, toBase64 } from '@tallystick/evidence';
import type { Clock } from '../../runtime/clock.ts';
import type { Deadline } from '../../runtime/deadline.ts';
import type { Checkpointer } from '../checkpoints/checkpointer.ts';
import { draftNotice } from '../append/notice.ts';
import { requireSound } from '../checkpoints/provable.ts';
import type { IndexSpan, RemovalStore } from './removal.ts';
import { withoutDeletions } from './without-deletions.ts';
import type { Sequencer } from '../append/sequencer.ts';
import type { LogTree, TreesWith } from '../tree.ts';

export interface RemovalRequest {
  readonly tenant: TenantId;
  /** In order and without overlaps; all in the current log, and signed. */
  readonly spans: readonly IndexSpan[];
  readonly cause: NoticePayload<typeof KINDS.purge>['cause'];
  /** The retention policy that decided; undefined: the tenant's default. */
  readonly policy?: { readonly policyId: string; readonly policyVersion: number } | undefined;
  /**
   * `holdsAsOf` of the tenant whose holds left these spans: notices that come behind a change of them are refused. Undefined:
   * whatever is held.
   */
  readonly holdsAsOf?: string | undefined;
  /** The UUID of the request that caused it, or a new one. */
  readonly correlationId: string;
  /** The time limit for a checkpoint over the notices. */
  readonly deadline: Deadline;
}

export interface RemovalParts {
  readonly removal: RemovalStore;
  readonly trees: TreesWith<'tree' | 'head'>;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly checkpointer: Pick<Checkpointer, 'covers' | 'refusalOf'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly nextId: () => EventId;
  /** Leaves nothing of what was removed in the index of events. */
  readonly forget: (tenant: TenantId) => Promise<void>;
}

export interface Removed {
  /** The indexes of the notices under which all of it is now removed, new and existing ones. */
  readonly noticeIndexes: readonly number[];
  /** What no notice names yet was refused: read the holds anew, leave out what they hold, and ask again. */
  readonly holdsChanged?: true;
}

/** The limit of one notice, which keeps it small; the rest goes into the next one. A single span has at most 106. */
const SUBTREES_MAX = 1000;

/** Rejects if a step fails; the completed steps stay, and the same request continues from there. */
export async function remove(request: RemovalRequest, parts: RemovalParts): Promise<Removed> {
  const { tenant, spans } = request;
  // The content of a faulty log may be needed to find the cause.
  requireSound(tenant, parts.checkpointer);
  const tree = await parts.trees.forTenant(tenant).tree();
  if (tree === undefined) throw new Error(`there is no tenant ${tenant}`);
  const { left, noticeIndexes } = await withoutDeletions(tenant, spans, parts.removal);
  let holdsChanged = false;
  for (const some of portionsOf(left, tree.firstIndex)) {
    const noticeIndex = await appendNotice(some, tree, request, parts);
    holdsChanged = noticeIndex === 'HoldsChanged';
    if (holdsChanged) break;
    if (typeof noticeIndex === 'number') noticeIndexes.add(noticeIndex);
  }
  const ordered = [...noticeIndexes].sort((a, b) => a - b);
  for (const noticeIndex of ordered) {
    await untilSigned(noticeIndex, request, parts);
    for (let from: number | undefined = 0; from !== undefined; )
      from = await parts.removal.deleteContents(tenant, noticeIndex, from);
  }
  await parts.forget(tenant);
  return { noticeIndexes: ordered, ...(holdsChanged && { holdsChanged }) };
}

/** Splits the spans into portions that fit into one notice. */
function* portionsOf(spans: readonly IndexSpan[], logFirstIndex: number): Generator<IndexSpan[]> {
  let portion: IndexSpan[] = [];
  let subtrees = 0;
  for (const span of spans) {
    if (span.firstIndex < logFirstIndex)
      throw new Error(
        `index ${span.firstIndex} is of a log that ended with a restore: no notice can follow in it`,
      );
    const more = subtreesOf(rangeIn(span, logFirstIndex)).length;
    if (portion.length > 0 && subtrees + more > SUBTREES_MAX) {
      yield portion;
      [portion, subtrees] = [[], 0];
    }
    portion.push(span);
    subtrees += more;
  }
  if (portion.length > 0) yield portion;
}

/** In indexes of the log. */
function rangeIn({ firstIndex, endIndex }: IndexSpan, logFirstIndex: number) {
  return { begin: firstIndex - logFirstIndex, end: endIndex - logFirstIndex };
}

/** Undefined, and nothing is appended, if there is no content to remove. */
async function appendNotice(
  spans: readonly IndexSpan[],
  tree: LogTree,
  { tenant, cause, policy, correlationId, holdsAsOf }: RemovalRequest,
  { removal, sequencer, clock, nextId }: RemovalParts,
): Promise<number | 'HoldsChanged' | undefined> {
  const count = await removal.countContents(tenant, spans);
  if (count === 0) return undefined;
  const ranges = spans.map((span): IndexRange => {
    const { begin, end } = rangeIn(span, tree.firstIndex);
    return [begin, end];
  });
  const signedSize = (await tree.latest())?.size ?? 0;
  const last = ranges.at(-1)![1];
  if (last > signedSize)
    throw new Error(
      `the log of ${tenant} is signed up to ${signedSize}, and index ${last - 1} is to be removed`,
    );
  const payload: NoticePayload<typeof KINDS.purge> = {
    policyId: policy?.policyId ?? null,
    policyVersion: policy?.policyVersion ?? null,
    cause,
    ranges,
    count,
    subtrees: (await tree.subtrees(ranges)).map(toBase64),
  };
  const resource = { resourceType: 'Log', resourceId: tenant };
  const facts = { kind: KINDS.purge, action: 'Purge.Events', resource, payload, correlationId };
  const draft = draftNotice(facts, { eventId: nextId(), nowMs: clock.now() });
  const result = await sequencer.append({ tenant, drafts: [draft], atomic: true, holdsAsOf });
  if (result.status === 'HoldsChanged') return result.status;
  const [placed] = result.status === 'Done' ? result.outcomes : [];
  assert(placed?.status === 'Appended', 'a notice has an id of its own');
  return placed.index;
}

/** Resolves once a stored checkpoint covers the notice; one is anchored before it is stored. */
export async function untilSigned(
  noticeIndex: number,
  { tenant, deadline }: Pick<RemovalRequest, 'tenant' | 'deadline'>,
  { trees, checkpointer }: Pick<RemovalParts, 'trees' | 'checkpointer'>,
): Promise<void> {
  const head = await trees.forTenant(tenant).head(noticeIndex);
  assert(head !== undefined, 'a notice is in a log');
  const size = noticeIndex - head.firstIndex + 1;
  if ((head.latest?.size ?? 0) >= size) return;
  const isPublished = async () =>
    ((await trees.forTenant(tenant).head(noticeIndex))?.latest?.size ?? 0) >= size;
  await checkpointer.covers({ tenant, size, deadline }, isPublished);
}
