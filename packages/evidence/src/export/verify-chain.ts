// Verifies that of the files of a schedule none is missing between the first and the last that are there. Each file is verified by itself
// before; here its manifest is held against that of the file before it:
//
//   all are of one schedule                                                    (MALFORMED, ORIGIN_MISMATCH)
//   their numbers have no gap, and no number has two files                     (CHAIN_BROKEN)
//   each names the SHA-256 of the manifest before it                           (CHAIN_BROKEN)
//   each begins in the log where the one before it ends                        (CHAIN_BROKEN)

import { EvidenceError, malformed } from '../errors.ts';
import type { Manifest, ManifestPlace } from './manifest.ts';

export interface ChainedFile {
  readonly name: string;
  readonly manifest: Manifest;
  /** Of `manifest.json`, in hex. */
  readonly sha256: string;
}

export interface ChainVerdict {
  readonly scheduleId: string;
  /** Numbers. Above 1: the files before it are not there. */
  readonly first: number;
  readonly last: number;
  /** Of the tenant: what belongs to these files, from the first event to the last. */
  readonly fromSequence: number;
  readonly toSequence: number;
  /** Each file has all of its range. */
  readonly complete: boolean;
}

interface Placed extends ChainedFile {
  readonly place: ManifestPlace;
}

export function verifyChain(files: readonly ChainedFile[]): ChainVerdict {
  const placed = files.map(placedFile).toSorted((a, b) => a.place.number - b.place.number);
  const [first] = placed;
  const last = placed.at(-1);
  if (first === undefined || last === undefined) throw malformed('there is no file of a schedule');
  for (const [i, file] of placed.entries()) if (i > 0) requireNext(placed[i - 1]!, file);
  return {
    scheduleId: first.place.scheduleId,
    first: first.place.number,
    last: last.place.number,
    fromSequence: beginOf(first.manifest) + 1,
    toSequence: endOf(last.manifest),
    complete: placed.every(({ manifest }) => manifest.range.complete),
  };
}

function placedFile(file: ChainedFile): Placed {
  const { schedule: place } = file.manifest;
  if (place === undefined) throw malformed(`${file.name} is no file of a schedule`);
  return { ...file, place };
}

function requireNext(before: Placed, file: Placed): void {
  const { scheduleId, number, previous } = file.place;
  const names = `${before.name} and ${file.name}`;
  if (scheduleId !== before.place.scheduleId || file.manifest.tenantId !== before.manifest.tenantId)
    throw new EvidenceError('ORIGIN_MISMATCH', `${names} are of different schedules`);
  if (number === before.place.number) throw broken(`${names} have the same number, ${number}`);
  if (number > before.place.number + 1) throw broken(`${missing(before, file)} missing between ${names}`);
  if (previous !== before.sha256)
    throw broken(`${file.name} names another file before it than ${before.name}`);
  // After a restore a log goes on under another name, from a place that no file can know.
  const isOneLog = before.manifest.origin === file.manifest.origin;
  if (isOneLog && beginOf(file.manifest) !== endOf(before.manifest))
    throw broken(
      `${file.name} begins with sequence ${beginOf(file.manifest) + 1}, and ${before.name} ends with ${endOf(before.manifest)}`,
    );
}

function missing({ place: before }: Placed, { place: next }: Placed): string {
  const [from, to] = [before.number + 1, next.number - 1];
  return from === to ? `file ${from} is` : `files ${from} to ${to} are`;
}

function beginOf({ range }: Manifest): number {
  return range.firstIndex + range.from;
}

function endOf({ range }: Manifest): number {
  return range.firstIndex + range.to;
}

function broken(message: string): EvidenceError {
  return new EvidenceError('CHAIN_BROKEN', message);
}
