// Reads deletions and redactions from their rows.

import type { Deletion, RedactedEvent } from '../../streams/removal/removal.ts';
import { numberOf } from './columns.ts';

export function deletionIn(row: Readonly<Record<string, unknown>>): Deletion {
  return {
    firstIndex: numberOf(row, 'first_index'),
    endIndex: numberOf(row, 'end_index'),
    noticeIndex: numberOf(row, 'notice_index'),
  };
}

export function redactionRowIn(row: Readonly<Record<string, unknown>>): RedactedEvent {
  return { index: numberOf(row, 'leaf_index'), noticeIndex: numberOf(row, 'notice_index') };
}
