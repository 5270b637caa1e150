// Notices that the writer creates itself, because their facts are only known inside its transaction.

import { ok as assert } from 'node:assert/strict';
import { encodeNotice, type NoticeFacts, type NoticeKind } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { PooledDraft } from './append-message.ts';
import type { PoolCommitments, PoolCommitter } from './pool-commitments.ts';
import { CLASSIFICATIONS } from '../rows/classification-column.ts';

export interface OwnNoticesOptions {
  /** Makes the commitments of the notices. */
  readonly committer: PoolCommitter;
  readonly nextId: () => string;
  readonly random: Random;
}

export interface OwnNotice {
  readonly draft: PooledDraft;
  /** The commitments of this draft alone, in row 0. */
  readonly commitments: PoolCommitments;
}

export function makeNotice<K extends NoticeKind>(
  facts: Omit<NoticeFacts<K>, 'correlationId'>,
  receivedAtMs: number,
  { committer, nextId, random }: OwnNoticesOptions,
): OwnNotice {
  const draft: PooledDraft = {
    kind: facts.kind,
    eventId: nextId(),
    texts: encodeNotice({ ...facts, correlationId: random.uuid() }, instant(receivedAtMs)),
    classification: CLASSIFICATIONS.indexOf('Internal'),
    retention: undefined,
    decidedBy: undefined,
    sentFingerprint: undefined,
  };
  const commitments = committer.make([{ drafts: [draft] }]);
  assert(commitments.faults.size === 0, 'a notice is an event');
  return { draft, commitments };
}
