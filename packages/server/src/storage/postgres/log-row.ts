// Which log of a tenant it is, out of the row of `epochs` that it began with; a tenant that never went on after a restore
// has none.

import type { TenantId } from '@tallystick/contract';
import { epochGenesisHash, genesisHash, originOf } from '@tallystick/evidence';
import type { JudgedLog } from '../pool/epoch-judge.ts';
import { numberOrNone, textOrNone } from '../rows/columns.ts';
import type { Row } from './database.ts';

/** Of a row of `epochs` that the log is joined with. */
export const LOG_COLUMNS = 'log.epoch, log.first_index AS log_first_index, log.previous_checkpoint';

/** Of a row with these columns, null or not there where there is no epoch. */
export function logIn(row: Row | undefined, tenant: TenantId, logOrigin: string): JudgedLog {
  const epoch = (row && numberOrNone(row, 'epoch')) ?? 0;
  const origin = originOf({ tenant, epoch }, logOrigin);
  const previous = row && textOrNone(row, 'previous_checkpoint');
  return {
    epoch,
    origin,
    firstIndex: (row && numberOrNone(row, 'log_first_index')) ?? 0,
    genesis: previous === undefined ? genesisHash(origin) : epochGenesisHash(origin, previous),
  };
}
