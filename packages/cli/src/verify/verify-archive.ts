// `tallystick verify` with the archive of an export: data, bundle and manifest, each against the others.

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { EvidenceError, type Trust, verifyExport, type WitnessPolicy } from '@tallystick/evidence';
import { startProgress } from '../output/progress.ts';
import { ZIP_BEGIN } from './evidence-input.ts';
import { hostHashing } from './host-hashing.ts';
import { requireQuorum } from './policy-option.ts';
import { type Report, reportExport } from './verify-report.ts';
import { ZipReader } from './zip-reader.ts';

const MANIFEST = 'manifest.json';
const MANIFEST_BYTES_MAX = 1_048_576;

/** By its first bytes; a pipe is none, since an archive is read from its end. */
export function isArchive(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const opened = openSync(file, 'r');
  try {
    const head = Buffer.alloc(ZIP_BEGIN.length);
    return readSync(opened, head, 0, head.length, 0) === head.length && head.toString('latin1') === ZIP_BEGIN;
  } finally {
    closeSync(opened);
  }
}

export async function verifyArchive(
  file: string,
  { trust, policy }: { readonly trust: Trust; readonly policy: WitnessPolicy | undefined },
): Promise<Report> {
  await using archive = await ZipReader.open(file);
  const manifest = await manifestIn(archive);
  using progress = startProgress(`verifying ${file}`, 'bytes');
  const entry = async function* (name: string) {
    for await (const chunk of archive.read(name)) {
      progress.add(chunk.length);
      yield chunk;
    }
  };
  const hashing = { ...hostHashing(), running: () => createHash('sha256') };
  const verdict = await verifyExport({ manifest, entry }, trust, hashing);
  requireEntries(archive, [verdict.manifest.data.name, verdict.manifest.evidence.name, MANIFEST]);
  requireQuorum(verdict.checkpoint.cosignedBy, policy);
  return reportExport(file, verdict);
}

async function manifestIn(archive: ZipReader): Promise<Uint8Array> {
  if (!archive.names.includes(MANIFEST))
    throw new EvidenceError(
      'MALFORMED',
      'the archive has no manifest.json: the export was made without includeProofs, or it was taken out',
    );
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of archive.read(MANIFEST)) {
    length += chunk.length;
    if (length > MANIFEST_BYTES_MAX) throw new EvidenceError('MALFORMED', 'manifest.json is over 1 MB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What nobody has verified may not stand beside what is. */
function requireEntries({ names }: ZipReader, expected: readonly string[]): void {
  const other = names.find((name) => !expected.includes(name));
  if (other === undefined) return;
  throw new EvidenceError('MALFORMED', `the archive has ${other}, which its manifest does not speak of`);
}
