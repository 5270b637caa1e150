// Legal holds as tables for people.

import type { LegalHold } from '@tallystick/contract';
import type { Columns } from '../output/table.ts';

export const HOLD_COLUMNS: Columns<LegalHold> = {
  NAME: ({ name }) => name,
  STATUS: ({ status }) => status,
  'HELD EVENTS': heldEvents,
  PLACED: ({ createdAt }) => createdAt,
  RELEASED: ({ releasedAt }) => releasedAt,
  'HOLD ID': ({ holdId }) => holdId,
};

/** One hold, a line for each member that it has. */
export function holdRows(hold: LegalHold): readonly (readonly [string, string])[] {
  const { conditions, range, releasedAt, releasedBy, releaseReason } = hold;
  const rows: (readonly [string, string | undefined])[] = [
    ['name', hold.name],
    ['hold id', hold.holdId],
    ['status', hold.status],
    ['reason', hold.reason],
    ['conditions', conditions && JSON.stringify(conditions)],
    ['range', range && `sequences ${range.fromSequence} to ${range.toSequence}`],
    ['held events', heldEvents(hold)],
    ['placed', `${hold.createdAt} by ${hold.createdBy}`],
    ['released', releasedAt && `${releasedAt} by ${releasedBy ?? '-'}`],
    ['because', releaseReason],
  ];
  return rows.flatMap(([title, value]) => (value === undefined ? [] : [[title, value] as const]));
}

function heldEvents(hold: LegalHold): string | undefined {
  return hold.heldEvents?.toString();
}
