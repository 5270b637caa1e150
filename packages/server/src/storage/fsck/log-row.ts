// A row of the log as the store verifier reads it on any backend: an entry with its content.

export interface LogRow {
  /** The column `leaf_index`: the index in the tenant's sequence. */
  readonly sequenceIndex: number;
  readonly classification: number;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly root1: Uint8Array;
  readonly root2: Uint8Array;
  /** Undefined once it is removed. */
  readonly content: RowContent | undefined;
}

/** Without texts, and without what is held against them. */
export interface RowOutline extends Pick<LogRow, 'sequenceIndex' | 'classification' | 'entry'> {
  /** Undefined once it is removed. */
  readonly content: { readonly isWhole: boolean; readonly expiresAtMs: number | undefined } | undefined;
}

export interface RowContent {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  /** Seeds; or the salts of what is left, where single units are deleted (rows/punctured.ts). */
  readonly seeds: Uint8Array;
  /** Undefined: it is whole. */
  readonly closed: Uint8Array | undefined;
  /** Why a sealed content could not be opened; undefined for all others. */
  readonly sealedFault: string | undefined;
  readonly expiresAtMs: number | undefined;
  /** The number of the text in `decisions`. */
  readonly decision: number | undefined;
}
