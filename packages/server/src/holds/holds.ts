// Legal holds of tenants, read from their records, released ones too. To go on without a hold that somebody has altered might remove
// what it keeps.

import { createGenuineRecords, type GenuineParts, type GenuineRecords } from '../records/genuine-records.ts';
import type { ReadNoted } from '../records/noted-versions.ts';
import { HOLD_KIND, holdIn, type HoldRecord } from './hold.ts';

export type Holds = GenuineRecords<HoldRecord>;

export function createHolds(parts: GenuineParts, readNoted: ReadNoted): Holds {
  return createGenuineRecords(HOLD_KIND, holdIn, parts, (tenant) => readNoted(tenant, HOLD_KIND));
}
