// Reads an event from its row: complete if it matches its hash, otherwise as altered, with its index but without its
// content.

import type { StoredContent, StoredEvent } from '../../streams/log.ts';
import { classificationIn } from './classification-column.ts';
import { blobOf, blobOrNone, numberOf, numberOrNone, readOr, textIn, textOrNone } from './columns.ts';
import { deletedIn, unitColumnsIn } from './punctured.ts';
import { purgedIn, withoutRemoved } from './removed-rows.ts';
import { SealedRows } from '../sealing/sealed-rows.ts';
import { deletedTagsIn, hasContent, indexIn, StoredContents, textsIn } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const NO_BYTES = new Uint8Array(0);

export class StoredEvents {
  /** Created on demand: it uses memory, and not every holder reads events. */
  #contents: StoredContents | undefined;
  readonly #sealed: SealedRows;

  constructor(sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
  }

  /**
   * Reads rows with the columns that stored-content.ts checks, and `stream_id`. `notices` are the rows of the notices
   * that may be about them (removed-rows.ts).
   */
  of(rows: readonly Row[], notices: readonly (Row | undefined)[]): StoredEvent[] {
    if (rows.length === 0) return [];
    const contents = (this.#contents ??= new StoredContents());
    const left = withoutRemoved(rows, notices, contents, this.#sealed);
    const faults = contents.faultsOf(left);
    return left.map((row, i) => eventIn(row, faults[i]));
  }
}

/** The size of the texts of a row. */
export function textBytesOf(row: Row | undefined): number {
  return row === undefined ? 0 : lengthIn(row, 'text1') + lengthIn(row, 'text2');
}

function lengthIn(row: Row, column: string): number {
  return readOr(() => blobOrNone(row, column), undefined)?.length ?? 0;
}

function eventIn(row: Row, fault: string | undefined): StoredEvent {
  const streamId = readOr(() => textIn(row, 'stream_id'), undefined);
  if (fault !== undefined || streamId === undefined) return alteredIn(row, fault ?? 'it is in no stream');
  return {
    index: numberOf(row, 'leaf_index'),
    entry: blobOf(row, 'entry'),
    leaf: blobOf(row, 'leaf'),
    classification: classificationIn(row),
    streamId,
    content: hasContent(row) ? contentIn(row) : purgedIn(row),
  };
}

/** The index, as far as the row allows. */
function alteredIn(row: Row, fault: string): StoredEvent {
  return {
    index: indexIn(row),
    entry: readOr(() => blobOf(row, 'entry'), NO_BYTES),
    leaf: readOr(() => blobOf(row, 'leaf'), NO_BYTES),
    classification: readOr(() => classificationIn(row), 'Secret'),
    streamId: readOr(() => textIn(row, 'stream_id'), ''),
    content: { fault },
  };
}

function contentIn(row: Row): StoredContent {
  const [one, two] = textsIn(row);
  const content: StoredContent = {
    texts: [decoder.decode(one), decoder.decode(two)],
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
    // No hash covers it.
    decidedBy: readOr(() => textOrNone(row, 'decided_by'), undefined),
  };
  if (row['closed'] === null) return content;
  const deleted = deletedIn(unitColumnsIn(row).closed).flat();
  const deletedUnder = [...new Set(deletedTagsIn(row)?.values())];
  return { ...content, deletedPaths: deleted.map(({ path }) => path), deletedUnder };
}
