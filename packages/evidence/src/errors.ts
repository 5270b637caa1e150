// The one error class of this package, with its closed list of reasons. For any bytes, makers and
// checkers here either succeed or throw an EvidenceError; docs/formats/verdicts.md explains every reason.

export const REASONS = [
  // The text or the bytes are not in the format they claim.
  'MALFORMED', // cannot be read: syntax, encoding, a missing or unknown member, a value out of range
  'TRUNCATED', // ends before its trailer, or holds fewer entries than it says
  'CHECKSUM_MISMATCH', // the file is not byte for byte the one that was written
  'VALUE_NOT_CANONICAL', // a value is not its own RFC 8785 text
  'PATH_UNKNOWN', // a unit stands at a path that no event has
  'PATH_CONFLICT', // a path stands twice, beside its own prefix, or as one unit that should have been opened

  // The shown data does not lead to the signed root.
  'LEAF_MISMATCH', // the units shown do not give the content hash inside the entry
  'INDEX_MISMATCH', // an entry stands at another index than it says
  'CHAIN_BROKEN', // an entry does not name the leaf before it
  'PROOF_INVALID', // an inclusion, consistency or range proof does not fit its size and index
  'ROOT_MISMATCH', // the recomputed root is not the signed one

  // Who signed it.
  'ORIGIN_MISMATCH', // the checkpoint or key is of another log
  'KEY_UNKNOWN', // no signature is by a key we were given
  'SIGNATURE_INVALID', // a signature by a key we were given does not verify
  'WITNESS_MISSING', // fewer witnesses than demanded have cosigned

  // The signed checkpoint contradicts an earlier one, or what the log says of itself.
  'ROLLBACK', // the log itself, as it is stored or served now, is smaller than it was
  'FORK', // the log is not an extension of what it was
  'HISTORY_UNPROVEN', // a checkpoint was seen before, and nothing shows whether one of the two extends the other
  'TIME_REVERSED', // an entry was received before the one that it follows
  'EVENT_ID_REPEATED', // two entries have one event id
  'GAP_UNEXPLAINED', // content was deleted and no later notice in the log says so
  'NOTICE_INVALID', // a notice is withheld, or its payload breaks its schema
  'FILTER_UNPROVEN', // a bundle says it is complete and does not show why an entry was left out
  'ROW_MISMATCH', // a row of an export differs from what its bundle proves, or one of the two is missing
] as const;

export type Reason = (typeof REASONS)[number];

export class EvidenceError extends Error {
  override readonly name = 'EvidenceError';
  readonly reason: Reason;
  /** The leaf index that the fault was found at, where there is one. */
  readonly index: number | undefined;
  /** The line of the file, from 1, where it has no index because it cannot be read. */
  readonly line: number | undefined;

  constructor(
    reason: Reason,
    message: string,
    where?: { index?: number | undefined; line?: number; cause?: unknown },
  ) {
    super(message, where?.cause === undefined ? undefined : { cause: where.cause });
    this.reason = reason;
    this.index = where?.index;
    this.line = where?.line;
  }
}

export function malformed(message: string, cause?: unknown): EvidenceError {
  return new EvidenceError('MALFORMED', message, { cause });
}
