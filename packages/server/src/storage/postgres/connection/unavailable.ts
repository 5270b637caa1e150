// A database that cannot be asked, told from one that has answered: whoever wanted something of it is told to come again, and
// what it said is for the diagnostics alone.

import { AuditError } from '@tallystick/contract';

/** A commit that the database has made, but does not say to be where it must be. */
export class UnknownCommitError extends Error {}

/**
 * Classes of answers by which the database says that it is not to be had: it starts, stops, is full, took too long, let
 * somebody else go first (40), or is a standby that may be promoted (25006).
 */
const AWAY = /^(08|40|53|57|58|25P0[34]|25006)/;
/** What the driver says by itself, without a code. */
const OF_THE_DRIVER = [
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'Cannot use a pool after calling end',
];

/** SERVICE_UNAVAILABLE in its place, if it says so; else the error itself. */
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
  // An answer has a severity, an error of the system the call that failed.
  if ('severity' in error) return AWAY.test(code);
  if ('syscall' in error || code.startsWith('ECONN')) return true;
  return OF_THE_DRIVER.some((beginning) => error.message.startsWith(beginning));
}
