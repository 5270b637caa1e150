// The evidence for an event in its row: its entry, the roots of its groups, and its texts with the salts of their
// units. Seeds stay in the store; salts leave it only for readers who may see the values.

import { splitGroup } from '@tallystick/evidence';
import type { AlteredEvent, OpenContent, StoredEvidence } from '../../streams/tree.ts';
import { SEED_BYTES, saltsOf } from '../pool/commitments.ts';
import { classificationIn } from './classification-column.ts';
import { sealedFaultIn, type SealedRows } from '../sealing/sealed-rows.ts';
import { blobOf, ColumnError, numberOf } from './columns.ts';
import { purgedIn, withoutPurged } from './purge-notice.ts';
import { hasContent, indexIn, type StoredContents, textsIn } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The evidence of a row that matches its hash; otherwise the fault. `notices` are the rows of the notices that may
 * cover it (purge-notice.ts).
 */
export function soundEvidenceIn(
  row: Row | undefined,
  notices: readonly (Row | undefined)[],
  contents: StoredContents,
  sealed: SealedRows,
): StoredEvidence | AlteredEvent | undefined {
  if (row === undefined) return undefined;
  const left = sealed.open(withoutPurged([row], notices, contents)[0]!);
  const [fault] = contents.faultsOf([left]);
  return fault === undefined ? evidenceOf(left) : { index: indexIn(row), fault };
}

/** The stored values, unchecked. */
export function evidenceIn(
  rows: readonly Row[],
  notices: readonly (Row | undefined)[],
  contents: StoredContents,
  sealed: SealedRows,
): StoredEvidence[] {
  return withoutPurged(rows, notices, contents).map((row) => evidenceOf(sealed.open(row)));
}

function evidenceOf(row: Row): StoredEvidence {
  return {
    index: numberOf(row, 'leaf_index'),
    classification: classificationIn(row),
    entry: blobOf(row, 'entry'),
    roots: [blobOf(row, 'root1'), blobOf(row, 'root2')],
    content: hasContent(row) ? contentIn(row) : purgedIn(row),
  };
}

function contentIn(row: Row): OpenContent {
  const sealedFault = sealedFaultIn(row);
  if (sealedFault !== undefined) throw new ColumnError(sealedFault);
  const [one, two] = textsIn(row);
  const seeds = blobOf(row, 'seeds');
  return {
    texts: [decoder.decode(one), decoder.decode(two)],
    salts: [
      saltsOf(seeds.subarray(0, SEED_BYTES), splitGroup(one, 1).units.length),
      saltsOf(seeds.subarray(SEED_BYTES), splitGroup(two, 2).units.length),
    ],
  };
}
