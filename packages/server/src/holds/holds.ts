// Legal holds of tenants, read from their records, released ones too. To go on without a hold that somebody has altered might remove
// what it keeps.

import { createGenuineRecords, type GenuineRecords } from '../records/genuine-records.ts';
import type { KeptRecords } from '../records/kept-records.ts';
import type { RecordReader } from '../records/records.ts';
import { HOLD_KIND, holdIn, type HoldRecord } from './hold.ts';

export type Holds = GenuineRecords<HoldRecord>;

export function createHolds(
  records: Pick<RecordReader, 'forOwner'>,
  kept: Pick<KeptRecords, 'genuine'>,
): Holds {
  return createGenuineRecords(HOLD_KIND, holdIn, records, kept);
}
