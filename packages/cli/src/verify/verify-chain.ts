// `tallystick verify --chain` with a folder that has the files of a schedule: each is verified, and that none is missing between them.

import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChainedFile,
  type ChainVerdict,
  EvidenceError,
  MANIFEST_NAME,
  parseJson,
  type Trust,
  type VerdictRow,
  verifyChain,
  type WitnessPolicy,
} from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { isArchive, isUnpacked, openExport, verdictOn } from './verify-archive.ts';
import { lines, type Report } from './verify-report.ts';

interface Trusting {
  readonly trust: Trust;
  readonly policy: WitnessPolicy | undefined;
}

export async function verifyChainIn(folder: string, trusting: Trusting): Promise<Report> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CannotRun(`${folder} is no folder: --chain verifies all files of a schedule in one`);
  const paths = readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(folder, name))
    .filter((path) => isUnpacked(path) || isArchive(path));
  if (paths.length === 0) throw new CannotRun(`${folder} has no archives of exports`);
  const files: ChainedFile[] = [];
  for (const path of paths.toSorted()) files.push(await verifiedFile(path, trusting));
  const verdict = verifyChain(files);
  return { text: lines(`verified  ${folder}`, chainRows(verdict, files)), json: jsonOf(verdict, files) };
}

async function verifiedFile(path: string, { trust, policy }: Trusting): Promise<ChainedFile> {
  try {
    await using archive = await openExport(path);
    const bytes: Uint8Array[] = [];
    for await (const chunk of archive.entry(MANIFEST_NAME)) bytes.push(chunk);
    const own = { ...trust, verifiers: verifiersFor(Buffer.concat(bytes).toString(), trust) };
    const { manifest } = await verdictOn(path, archive, { trust: own, policy });
    const sha256 = createHash('sha256').update(Buffer.concat(bytes)).digest('hex');
    return { name: path, manifest, sha256 };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    const { reason, message, index, line } = error;
    throw new EvidenceError(reason, `${path}: ${message}`, {
      index,
      ...(line !== undefined && { line }),
    });
  }
}

/** After a restore a log goes on under another name, so that the files of one schedule may need several keys. */
function verifiersFor(manifest: string, { verifiers }: Trust): Trust['verifiers'] {
  const said = parseJson(manifest) as { readonly origin?: unknown } | null;
  const own = verifiers.filter(({ name }) => name === said?.origin);
  return own.length > 0 ? own : verifiers;
}

function chainRows(verdict: ChainVerdict, files: readonly ChainedFile[]): VerdictRow[] {
  const { scheduleId, first, last, fromSequence, toSequence, complete } = verdict;
  const [one] = files;
  return [
    ['schedule', `${scheduleId} of ${one!.manifest.tenantId}`],
    ['files', `${first} to ${last}, none missing between them`],
    ...(first > 1 ? [['before', `files 1 to ${first - 1} are not here`] as const] : []),
    ['sequences', `${fromSequence} to ${toSequence}, ${complete ? 'none left out' : 'may not be all'}`],
    ['rows', String(files.reduce((sum, { manifest }) => sum + manifest.counts.exported, 0))],
  ];
}

function jsonOf(verdict: ChainVerdict, files: readonly ChainedFile[]): Report['json'] {
  const shown = files.map(({ name, sha256, manifest: { exportId, schedule, counts } }) => ({
    name,
    number: schedule?.number,
    exportId,
    manifest: sha256,
    rows: counts.exported,
  }));
  return { verified: true, kind: 'Chain', ...verdict, files: shown };
}
