// Makes the file of an export: what its reader sees of the tenant's log, as it was when the export was asked for. One piece is made
// while the one before it is written.

import { CLASSIFICATIONS, type ExportCriteria } from '@tallystick/contract';
import type { Tenants } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { reportAltered } from '../events/altered.ts';
import type { EventIndex, OrderStep } from '../events/event-index.ts';
import { readQuery, readTimeRange } from '../events/question.ts';
import type { Published } from '../events/show.ts';
import { keepersOf } from '../holds/hold-judge.ts';
import type { Holds } from '../holds/holds.ts';
import type { Policies } from '../policies/policies.ts';
import { sightOf } from '../policies/sight.ts';
import { readKinds } from '../query/filters.ts';
import { wait } from '../runtime/clock.ts';
import { giveBack } from '../runtime/give-back.ts';
import type { LogReader } from '../streams/log.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ProvenUnder } from './evidence-lines.ts';
import { EVIDENCE_ENTRY, ExportFile, type FileParts, type FinishedFile } from './export-file.ts';
import { ExportFailure, removedSince } from './export-failure.ts';
import { ALTERED_FILE, type Checkpoint, type NextPlace } from './export-files.ts';
import { type ExportRecord, readerOf } from './export.ts';
import { type Done, type MakingProgress, Pace } from './making-progress.ts';
import { type Asked, type NextPiece, piecesFound, piecesOfLog } from './pieces.ts';
import { MANIFEST_NAME } from '@tallystick/evidence';
import {
  addManifest,
  addPage,
  beginEvidence,
  endEvidence,
  evidencePlanOf,
  newestUnder,
  type ProofParts,
} from './proofs.ts';
import type { Piece, Shaping, ShapingPlan } from './shaping.ts';

export interface MakingParts extends FileParts, ProofParts {
  readonly clock: FileParts['clock'] & Parameters<typeof wait>[0] & ConstructorParameters<typeof Pace>[0];
  readonly shaping: Shaping;
  readonly log: LogReader;
  readonly index: EventIndex;
  readonly removal: Pick<RemovalStore, 'deletions'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly policies: Pick<Policies, 'version'>;
  readonly holds: Pick<Holds, 'find'>;
  readonly publishedOf: (call: Pick<Call, 'tenant'>, index: number) => Promise<Published>;
  readonly telemetry: Pick<Telemetry, 'altered' | 'error' | 'warn'>;
  readonly nextId: () => string;
}

export interface Making {
  readonly key: Uint8Array;
  readonly signal: AbortSignal;
  /** Called after each piece. Throws where the export is not wanted any more. */
  readonly onProgress: (progress: MakingProgress) => Promise<void>;
  /** Throws likewise; called while there is something to wait for. */
  readonly requireWanted: () => Promise<void>;
}

export interface MadeFile extends FinishedFile {
  readonly eventCount: number;
  readonly runId: string;
  /** The first index that does not belong to it. */
  readonly endIndex: number;
  /** SHA-256 of the manifest, in hex; undefined: there is none. */
  readonly manifest: string | undefined;
}

const GONE: readonly unknown[] = ['ENOENT', ALTERED_FILE];
const COVERED_MS_MAX = 60_000;
const COVERED_EVERY_MS = 50;
const NO_EVENT = '0'.repeat(26);

export async function makeExport(
  record: ExportRecord,
  making: Making,
  parts: MakingParts,
): Promise<MadeFile> {
  const { exportId, jobId, format, contentColumns, compression, includeProofs } = record;
  const plan = await planOf(record, making, parts);
  const runId = parts.nextId();
  const facts = {
    exportId,
    jobId,
    runId,
    key: making.key,
    format,
    contentColumns,
    compression,
    includeProofs,
  };
  const checkpoint = await parts.files.checkpoint(exportId, jobId);
  const begun = await fileOf(facts, checkpoint, plan, parts);
  await using file = begun.file;
  const adding = { record, making, parts, file, pace: new Pace(parts.clock) };
  if (file.entries.length === 0) {
    await addPieces(plan, begun.next, adding);
    await file.endData();
  }
  const eventCount = file.entries[0]?.events ?? file.before.events;
  if (file.under !== undefined) await addProofs(plan, file.under, begun, adding);
  const manifest = file.hashOf(MANIFEST_NAME);
  return { ...(await file.finish()), eventCount, runId, endIndex: plan.endIndex, manifest };
}

interface Adding {
  readonly record: ExportRecord;
  readonly making: Making;
  readonly parts: MakingParts;
  readonly file: ExportFile;
  readonly pace: Pace;
}

async function addPieces(
  plan: ShapingPlan,
  next: NextPlace | undefined,
  { record, making, parts, file, pace }: Adding,
): Promise<void> {
  const found = isWholeLog(record.criteria) ? undefined : await questionOf(record, plan, parts);
  const pieces = found === undefined ? piecesOfLog(plan, parts) : piecesFound(plan, found, making, parts);
  const start = next ?? startOf(plan, found);
  for await (const { piece, next: then, progress } of pieces(start, file.before)) {
    making.signal.throwIfAborted();
    requireThere(piece, record, parts);
    await file.add(piece);
    giveBack(piece.bytes);
    await file.saveSometimes(then);
    await making.onProgress(pace.progress(doneOf(plan, file, progress, record)));
  }
}

/** What stands before it is in the files before. */
function startOf({ fromIndex }: ShapingPlan, found: Asked | undefined): NextPlace | undefined {
  if (found === undefined) return { index: fromIndex };
  // In the order of the log nothing but its place counts.
  return fromIndex === 0
    ? undefined
    : { beyond: { atMs: 0, atNs: 0, action: '', eventId: NO_EVENT, index: fromIndex - 1 } };
}

/** With proofs, the data is half of the work. */
function doneOf(
  { evidence }: ShapingPlan,
  { before, entries }: ExportFile,
  { share, ...progress }: NextPiece['progress'],
  { includeProofs }: ExportRecord,
): Done {
  const [data] = entries;
  return {
    ...progress,
    processedEvents: data?.events ?? before.events,
    writtenEvents: (data?.events ?? 0) + before.events,
    share: includeProofs ? (share + (evidence === undefined ? 0 : 1)) / 2 : share,
  };
}

async function addProofs(
  plan: ShapingPlan,
  under: ProvenUnder,
  { next }: { readonly next: NextPlace | undefined },
  adding: Adding,
): Promise<void> {
  const { file, record, parts } = adding;
  const evidence = evidencePlanOf(record, plan, under);
  const isBegun = file.isOf(EVIDENCE_ENTRY);
  if (!isBegun) await beginEvidence(file, record, evidence, under);
  await addPieces({ ...plan, evidence }, isBegun ? next : undefined, adding);
  await endEvidence(file, record, evidence, under, parts);
  await addPage(file, parts);
  await addManifest(file, record, evidence, under, parts);
}

type Facts = Parameters<typeof ExportFile.begin>[0];

async function fileOf(
  facts: Facts,
  checkpoint: Checkpoint | undefined,
  plan: ShapingPlan,
  parts: MakingParts,
): Promise<{ readonly file: ExportFile; readonly next: NextPlace | undefined }> {
  if (checkpoint !== undefined) {
    try {
      return { file: await ExportFile.resume(facts, checkpoint, parts), next: checkpoint.next };
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && GONE.includes(error.code);
      if (!isGone) throw error;
      const { exportId } = facts;
      parts.telemetry.warn('an export begins anew: its file is not as it was left', {
        exportId,
        cause: error.message,
      });
    }
  }
  const under = facts.includeProofs ? await newestUnder(plan, parts) : undefined;
  return { file: await ExportFile.begin(facts, under, parts), next: undefined };
}

/** Nothing but the order of the log, and what is looked at event by event. */
function isWholeLog({ query, filters = {}, sort = [] }: ExportCriteria): boolean {
  const { kinds: _, ...others } = filters;
  return query === undefined && sort.length === 0 && Object.keys(others).length === 0;
}

async function planOf(record: ExportRecord, making: Making, parts: MakingParts): Promise<ShapingPlan> {
  const { tenantId: tenant, snapshot, criteria, format, contentColumns, compression } = record;
  const notice = await parts.log.forTenant(tenant).event(snapshot.noticeId, CLASSIFICATIONS);
  if (notice === undefined) throw new Error(`there is no notice ${snapshot.noticeId} of ${tenant}`);
  const endIndex = notice.index;
  const { tenantRecord, call } = await seenBy(record, parts);
  return {
    tenant,
    format,
    contentColumns,
    isPacked: compression !== 'None',
    evidence: undefined,
    sight: sightOf(call).index,
    keepers: keepersOf(tenantRecord.holds, tenantRecord.policies),
    logStarts: await logsCovered(tenant, endIndex, making, parts),
    fromIndex: record.schedule?.fromIndex ?? 0,
    endIndex,
    kinds: readKinds(readQuery(criteria.query), criteria.filters?.kinds).kinds ?? ['Event'],
    conditions: criteria.conditions,
  };
}

/** The tenant with the holds and policies that it had when the export was asked for, and its reader. */
async function seenBy(record: ExportRecord, { tenants, policies, holds }: MakingParts) {
  const { tenantId: tenant, snapshot } = record;
  const current = await tenants.find(tenant);
  if (current === undefined || current.isAltered === true)
    throw new ExportFailure('PermissionLost', 'The tenant is not there, or its records were altered.', false);
  const then = {
    policies: await Promise.all(
      snapshot.policies.map(({ policyId, version }) => policies.version(tenant, policyId, version)),
    ),
    holds: await Promise.all(snapshot.holdIds.map((holdId) => holds.find(tenant, holdId))),
  };
  const tenantRecord = { ...current, policies: allOf(then.policies), holds: allOf(then.holds) };
  return { tenantRecord, call: { caller: readerOf(record), tenantRecord } };
}

/** To go on without one would show what it withholds. */
function allOf<T>(records: readonly (T | undefined)[]): readonly T[] {
  const there = records.filter((each) => each !== undefined);
  if (there.length === records.length) return there;
  throw new Error('a policy or a hold of the snapshot is not there any more');
}

/** Where each log of the tenant begins, the newest first, once a checkpoint covers all that is exported. */
async function logsCovered(
  tenant: string,
  endIndex: number,
  { signal, requireWanted }: Making,
  { publishedOf, clock }: MakingParts,
): Promise<number[]> {
  // The notice itself is there, so that there is a log.
  for (let waitedMs = 0; ; waitedMs += COVERED_EVERY_MS) {
    const newest = await publishedOf({ tenant }, endIndex);
    if (newest.endIndex >= endIndex) {
      const starts = [newest.firstIndex];
      while (starts.at(-1)! > 0) starts.push((await publishedOf({ tenant }, starts.at(-1)! - 1)).firstIndex);
      return starts;
    }
    if (waitedMs >= COVERED_MS_MAX) throw new Error('no checkpoint covers what is to be exported');
    await wait(clock, COVERED_EVERY_MS, signal);
    signal.throwIfAborted();
    await requireWanted();
  }
}

async function questionOf(
  record: ExportRecord,
  { evidence }: ShapingPlan,
  parts: MakingParts,
): Promise<Asked> {
  const { query: text, filters = {}, sort = [] } = record.criteria;
  const { call } = await seenBy(record, parts);
  const query = readQuery(text);
  const { timeRange = {}, kinds, ...others } = filters;
  return {
    query,
    filters: { ...others, ...readKinds(query, kinds), ...readTimeRange(timeRange) },
    sight: sightOf(call).index,
    // By nothing: in the order of the log, which that of a bundle is.
    order: evidence === undefined ? sort.map(stepOf) : [],
    direction: 'Next',
    aggregations: [],
    isScored: false,
  };
}

function stepOf({ field, order }: NonNullable<ExportCriteria['sort']>[number]): OrderStep {
  return { field, isDescending: order === 'desc' } as OrderStep;
}

function requireThere({ altered, purged }: Piece, record: ExportRecord, { telemetry }: MakingParts): void {
  const [first, ...others] = altered;
  const { tenantId: tenant, exportId } = record;
  if (first !== undefined)
    reportAltered({ tenant, correlation: { requestId: exportId } }, [first, ...others], telemetry);
  if (purged !== undefined) throw removedSince(purged);
}
