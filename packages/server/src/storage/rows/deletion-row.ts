// Reads a deletion from its row.

import type { Deletion } from '../../streams/removal/removal.ts';
import { numberOf } from './columns.ts';

export function deletionIn(row: Readonly<Record<string, unknown>>): Deletion {
  return {
    firstIndex: numberOf(row, 'first_index'),
    endIndex: numberOf(row, 'end_index'),
    noticeIndex: numberOf(row, 'notice_index'),
  };
}
