// The port to the files of exports: storage/export-files/ keeps them in a folder.

import type { ExportId } from '@tallystick/contract';
import type { SortKey } from '../events/event-index.ts';
import type { ProvenUnder } from './evidence-lines.ts';
import type { ZipEntry } from './packing/zip.ts';
import type { Before } from './shaping.ts';

/** Each run of the job that makes a file writes one of its own. */
export interface FilePlace {
  readonly exportId: ExportId;
  readonly runId: string;
  /** It is sealed under this key. */
  readonly key: Uint8Array;
}

/** What is durable of a file that is being made. */
export interface Checkpoint extends Before {
  readonly jobId: string;
  readonly runId: string;
  /** Of the file, as it is downloaded. */
  readonly bytes: number;
  /** Undefined: at its beginning. */
  readonly next: NextPlace | undefined;
  /** Those of an archive that are complete, and where the next one begins. */
  readonly entries: readonly ArchivedEntry[];
  readonly entryAt: number;
  /** The checkpoint of the log under which events are proven; undefined: they are not. */
  readonly under: ProvenUnder | undefined;
}

export interface ArchivedEntry extends ZipEntry, Before {}

/** Where it goes on: in the log, or behind an event that the index has found. */
export type NextPlace = { readonly index: number } | { readonly beyond: SortKey };

export interface FileWriter extends AsyncDisposable {
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when all of it is durable. */
  sync(): Promise<void>;
}

/** The code of an error: a file differs from what was written. */
export const ALTERED_FILE = 'ALTERED_FILE';

export interface ExportFiles {
  /** Throws where no file can be written. */
  tryOut(): Promise<void>;
  /** A new one, which is not complete. */
  create(place: FilePlace): Promise<FileWriter>;
  /** Of one that is not complete, from its beginning. Throws ALTERED_FILE, as the next one does. */
  readPart(place: FilePlace, end: number): AsyncIterable<Uint8Array>;
  /** Whether it is there, and complete. */
  has(place: Pick<FilePlace, 'exportId' | 'runId'>): Promise<boolean>;
  /** Of one that is complete. */
  read(place: FilePlace, from: number, end: number): AsyncIterable<Uint8Array>;
  /** Of this job; undefined: it begins anew. */
  checkpoint(exportId: ExportId, jobId: string): Promise<Checkpoint | undefined>;
  save(exportId: ExportId, checkpoint: Checkpoint): Promise<void>;
  /** From now on it is complete, and nothing goes on from its checkpoint. */
  finish(exportId: ExportId, runId: string): Promise<void>;
  /** Removes the files of an export; those of one run, and its checkpoint, stay. */
  clean(exportId: ExportId, keptRunId?: string): Promise<void>;
  /** The exports that have files here. */
  exportIds(): Promise<ExportId[]>;
}
