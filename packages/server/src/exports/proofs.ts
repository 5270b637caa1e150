// What stands beside the data of an export with proofs: the bundle of its events, under the checkpoint that the first run has chosen, a
// page that verifies it, and a manifest that the log's key has signed.

import { createHash } from 'node:crypto';
import {
  BundleWriter,
  type BundleHeader,
  columnName,
  formatManifest,
  MANIFEST_FORMAT,
  MANIFEST_NAME,
  manifestText,
  PAGE_NAME,
  proveRangeBetween,
  ResumableSha256,
  toHex,
} from '@tallystick/evidence';
import type { Signing } from '../keys/signing.ts';
import { instant } from '../runtime/clock.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { EvidencePlan, ProvenUnder } from './evidence-lines.ts';
import { EVIDENCE_ENTRY, type ExportFile } from './export-file.ts';
import type { ArchivedEntry } from './export-files.ts';
import type { ExportRecord, ScheduledRun } from './export.ts';
import { formatOf } from './formats/format.ts';
import type { ShapingPlan } from './shaping.ts';

export interface ProofParts {
  readonly trees: TreesWith<'head' | 'tree'>;
  readonly signing: Pick<Signing, 'signManifest'>;
  /** Why nothing may be proven from a log. */
  readonly requireSound: (tenant: string) => void;
  /** The page that verifies an export in a browser. */
  readonly page: () => Promise<string>;
}

/** The newest checkpoint of the log with the end of the export; one that covers all of it is there. */
export async function newestUnder(
  { tenant, endIndex }: Pick<ShapingPlan, 'tenant' | 'endIndex'>,
  { trees, requireSound }: ProofParts,
): Promise<ProvenUnder> {
  requireSound(tenant);
  const head = await trees.forTenant(tenant).head(endIndex);
  if (head?.latest === undefined) throw new Error(`the log of ${tenant} has no checkpoint`);
  const { origin, firstIndex, latest } = head;
  return { origin, firstIndex, size: latest.size, note: latest.note };
}

/** Nothing is asked of the events, so that none of the log may be missing. */
function isOfEverything({ criteria }: ExportRecord, { kinds }: ShapingPlan): boolean {
  const { filters = {}, query, conditions, sort = [] } = criteria;
  const { kinds: _, ...others } = filters;
  const isAny = query === undefined && conditions === undefined && Object.keys(others).length === 0;
  return isAny && sort.length === 0 && kinds.includes('Event') && kinds.includes('Notice');
}

export function evidencePlanOf(record: ExportRecord, plan: ShapingPlan, under: ProvenUnder): EvidencePlan {
  const { firstIndex } = under;
  const to = plan.endIndex - firstIndex;
  // The first entry of a log that goes on after a restore is proven by the log before it alone.
  const first = firstIndex === 0 ? 0 : 1;
  const wanted = plan.fromIndex - firstIndex;
  const from = Math.min(Math.max(wanted, first), to);
  const isComplete = wanted >= first && from < to && isOfEverything(record, plan);
  return { under: { firstIndex: under.firstIndex, size: under.size }, from, to, isComplete };
}

/** The entry of the bundle is begun. */
export async function beginEvidence(
  file: ExportFile,
  { criteria }: ExportRecord,
  { from, to, isComplete }: EvidencePlan,
  { origin, size }: ProvenUnder,
): Promise<void> {
  const header: BundleHeader = {
    origin,
    size,
    from,
    to,
    filter: isComplete ? null : criteria,
    complete: isComplete,
  };
  await file.beginEntry(EVIDENCE_ENTRY);
  await file.addText(new BundleWriter(createHash('sha256')).header(header));
}

export async function endEvidence(
  file: ExportFile,
  { tenantId }: ExportRecord,
  { from, to, isComplete }: EvidencePlan,
  { firstIndex, size, note }: ProvenUnder,
  { trees }: ProofParts,
): Promise<void> {
  const { hash, events } = file.before;
  const tree = isComplete ? await trees.forTenant(tenantId).tree(firstIndex) : undefined;
  const proof =
    tree &&
    proveRangeBetween({ begin: from, end: to }, size, [
      await tree.inclusion(from, size),
      await tree.inclusion(to - 1, size),
    ]);
  await file.addText(new BundleWriter(new ResumableSha256(hash), events).trailer(proof ?? [], note));
  await file.endEntry();
}

export async function addPage(file: ExportFile, { page }: ProofParts): Promise<void> {
  await file.beginEntry(PAGE_NAME);
  await file.addText(Buffer.from(await page()));
  await file.endEntry();
}

export async function addManifest(
  file: ExportFile,
  record: ExportRecord,
  { from, to, isComplete }: EvidencePlan,
  under: ProvenUnder,
  { signing }: ProofParts,
): Promise<void> {
  const { criteria, exportId, requestedAtMs, tenantId, format, contentColumns, schedule } = record;
  const [data, evidence] = file.entries as readonly [ArchivedEntry, ArchivedEntry];
  const [, size, root] = under.note.split('\n');
  const { columns } = formatOf(format, contentColumns);
  const paths = Object.fromEntries(contentColumns.map((path) => [columnName(path), path]));
  const manifest = {
    format: MANIFEST_FORMAT,
    exportId,
    requestedAt: instant(requestedAtMs),
    tenantId,
    origin: under.origin,
    criteria,
    dataFormat: format,
    ...(columns !== undefined && { columns }),
    ...(contentColumns.length > 0 && { contentColumns: paths }),
    counts: { exported: data.events, proven: evidence.events, ...countsWithheld(record, data) },
    entries: file.entries.map(({ name, rawBytes, hash }) => ({
      name,
      size: rawBytes,
      sha256: toHex(new ResumableSha256(hash).digest()),
    })),
    ...(schedule !== undefined && { schedule: placeOf(schedule) }),
    range: { firstIndex: under.firstIndex, from, to, complete: isComplete },
    checkpoint: { size: Number(size), root },
  };
  const lines = signing.signManifest(manifestText(manifest), under.origin);
  const signatures = lines.map((line) => line.trimEnd());
  await file.beginEntry(MANIFEST_NAME);
  await file.addText(Buffer.from(formatManifest(manifest, signatures)));
  await file.endEntry();
}

/** Each file of a schedule names the one before it. */
function placeOf({ scheduleId, number, previous }: ScheduledRun) {
  return { scheduleId, number, previous };
}

/** Only where all events were wanted: which of those that match a filter are withheld would tell what is in them. */
function countsWithheld({ criteria }: ExportRecord, { withheld }: ArchivedEntry) {
  const { filters = {}, query, conditions, sort = [] } = criteria;
  const isOfAll = query === undefined && conditions === undefined && sort.length === 0;
  const asksOthers = Object.keys(filters).some((name) => name !== 'kinds');
  if (!isOfAll || asksOthers || filters.kinds?.includes('Event') === false) return {};
  return { withheld: { Clearance: withheld.clearance, Purged: withheld.purged } };
}
