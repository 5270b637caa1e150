// The evidence for an event in its row: its entry, the roots of its groups, and its texts with the salts of their
// units. Seeds stay in the store; salts leave it only for readers who may see the values.

import type { AlteredEvent, OpenContent, StoredEvidence } from '../../streams/tree.ts';
import { classificationIn } from './classification-column.ts';
import { sealedFaultIn, type SealedRows } from '../sealing/sealed-rows.ts';
import { blobOf, ColumnError, numberOf } from './columns.ts';
import { deletedIn, saltsIn, unitColumnsIn } from './punctured.ts';
import { purgedIn, withoutRemoved } from './removed-rows.ts';
import { deletedTagsIn, hasContent, indexIn, type StoredContents, textsIn } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The evidence of a row that matches its hash; otherwise the fault. `notices` are the rows of the notices that may
 * be about it (removed-rows.ts).
 */
export function soundEvidenceIn(
  row: Row | undefined,
  notices: readonly (Row | undefined)[],
  contents: StoredContents,
  sealed: SealedRows,
): StoredEvidence | AlteredEvent | undefined {
  if (row === undefined) return undefined;
  const left = withoutRemoved([row], notices, contents, sealed)[0]!;
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
  return withoutRemoved(rows, notices, contents, sealed).map(evidenceOf);
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
  const columns = unitColumnsIn(row);
  const content: OpenContent = {
    texts: [decoder.decode(one), decoder.decode(two)],
    salts: saltsIn(columns),
  };
  if (columns.closed === undefined) return content;
  const noticed = deletedTagsIn(row);
  const [group1, group2] = deletedIn(columns.closed).map((units) =>
    units.map(({ path, tag, commitment }) => ({ path, commitment, noticeIndex: noticed?.get(tag) })),
  );
  return { ...content, deleted: [group1!, group2!] };
}
