// The log of a tenant, from its row of `epochs`; a tenant that never continued after a restore has none.

import type { TenantId } from '@tallystick/contract';
import { numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import { type LogIdentity, identityOf } from '../../rows/log-identity.ts';
import type { Row } from '../connection/database.ts';

/** Columns of the joined row of `epochs`. */
export const LOG_COLUMNS = 'log.epoch, log.first_index AS log_first_index, log.previous_checkpoint';

/** Reads a row with these columns, which are null or absent if there is no epoch. */
export function logIn(row: Row | undefined, tenant: TenantId, logOrigin: string): LogIdentity {
  const epoch = row && numberOrNone(row, 'epoch');
  if (row === undefined || epoch === undefined) return { tenant, ...identityOf(tenant, logOrigin) };
  const beginning = {
    epoch,
    firstIndex: numberOf(row, 'log_first_index'),
    previousCheckpoint: textIn(row, 'previous_checkpoint'),
  };
  return { tenant, ...identityOf(tenant, logOrigin, beginning) };
}
