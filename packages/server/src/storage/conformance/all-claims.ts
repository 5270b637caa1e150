// Every claim by its title: each backend must satisfy all of them.

import { causedJobClaims } from './caused-jobs.ts';
import { epochClaims } from './epochs.ts';
import { heardClaims } from './heard.ts';
import { holdClaims } from './holds.ts';
import { jobBatchClaims } from './job-batches.ts';
import { laneClaims } from './lanes.ts';
import { parkedClaims } from './parked-jobs.ts';
import { overdueClaims } from './overdue.ts';
import { byteClaims } from './log-bytes.ts';
import { chainClaims } from './log-chain.ts';
import { idClaims } from './log-ids.ts';
import { expiryClaims } from './expiry.ts';
import { followClaims } from './follows.ts';
import { keyClaims } from './log-keys.ts';
import { repeatClaims } from './log-repeats.ts';
import { recordReadClaims } from './record-reads.ts';
import { recordClaims } from './records.ts';
import { redactionClaims } from './redaction.ts';
import { removalClaims } from './removal.ts';
import { sealRequestClaims } from './seal-requests.ts';
import { secretKeyClaims } from './secret-keys.ts';
import { streamReadClaims } from './stream-reads.ts';
import { streamSealClaims } from './stream-seals.ts';
import { tenantClaims } from './tenants.ts';
import { treeClaims } from './tree.ts';
import { treeProofClaims } from './tree-proofs.ts';
import { violationClaims } from './violations.ts';
import { workClaims } from './work.ts';
import { workTurnClaims } from './work-turns.ts';

/** Of what is the same whether content is sealed or not: jobs, violations, and the bounds of streams. */
const BESIDE_CONTENT = [
  recordReadClaims,
  streamSealClaims,
  sealRequestClaims,
  workClaims,
  workTurnClaims,
  jobBatchClaims,
  heardClaims,
  laneClaims,
  parkedClaims,
  overdueClaims,
  followClaims,
  violationClaims,
].flatMap((claims) => Object.entries(claims));

/** Of the sealed rows themselves: how they are written, read, moved to other keys and removed. */
export const SEALED_CLAIMS = [
  byteClaims,
  recordClaims,
  secretKeyClaims,
  epochClaims,
  removalClaims,
  redactionClaims,
  expiryClaims,
].flatMap((claims) => Object.entries(claims));

/** Of what stores or reads content, or the keys that seal it. */
export const CONTENT_CLAIMS = [
  ...SEALED_CLAIMS,
  ...[
    chainClaims,
    keyClaims,
    idClaims,
    repeatClaims,
    tenantClaims,
    treeClaims,
    treeProofClaims,
    streamReadClaims,
    holdClaims,
    causedJobClaims,
  ].flatMap((claims) => Object.entries(claims)),
];

export const ALL_CLAIMS = [...CONTENT_CLAIMS, ...BESIDE_CONTENT];
