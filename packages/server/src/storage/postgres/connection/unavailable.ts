// Distinguishes an unavailable database from one that has answered: callers are told to retry, and the original error
// goes to the diagnostics only.

import { AuditError } from '@tallystick/contract';

/** The database has committed, but does not confirm that the commit is where it must be. */
export class UnknownCommitError extends Error {}

/**
 * Error classes of an unavailable database: starting, stopping, full, timed out, a lost conflict (40), or a standby
 * that may be promoted (25006).
 */
const AWAY = /^(08|40|53|57|58|25P0[34]|25006)/;
/** Messages of the driver itself, without a code. */
const OF_THE_DRIVER = [
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'Cannot use a pool after calling end',
];

/** Converts to SERVICE_UNAVAILABLE if the error means that; otherwise returns the error itself. */
export function orUnavailable(error: unknown): unknown {
  if (!isAway(error)) return error;
  return new AuditError('SERVICE_UNAVAILABLE', 'The database cannot be asked at the moment.', {
    cause: error,
  });
}

function isAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnknownCommitError) return true;
  const code = 'code' in error ? String(error.code) : '';
  // An answer of the database has a severity, a system error has the failed call.
  if ('severity' in error) return AWAY.test(code);
  if ('syscall' in error || code.startsWith('ECONN')) return true;
  return OF_THE_DRIVER.some((beginning) => error.message.startsWith(beginning));
}
