// Authenticates records: somebody who can write to the database, and to nothing else, can neither make a valid record nor
// alter one. Each bears a MAC under a key that is derived from a key which signs checkpoints, and those are in files:
//
//   mac = u16 number of the signing key, from 1 ‖ HMAC-SHA256(HKDF-SHA256(that key), text)
//   text = RFC 8785 of [log origin, owner, kind, id, version, state, uniqueName, lookup, salt, body], null where there is none
//
// A record that is put back to an older version has a sound MAC. `tallystick verify` finds it, and one that is gone: it
// holds records against their notices.

import { timingSafeEqual } from 'node:crypto';
import { canonicalJson, commitmentOf, toBase64 } from '@tallystick/evidence';
import type { Random } from '../runtime/random.ts';
import type { RecordKind, RecordOwner, StoredRecord } from './records.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

/** The content of a record, defined by its noun. */
export interface RecordContent {
  readonly state: string;
  readonly uniqueName?: string | undefined;
  /** In hex. */
  readonly lookup?: string | undefined;
  readonly [member: string]: unknown;
}

export interface RecordDraft {
  readonly owner: RecordOwner;
  readonly kind: RecordKind;
  readonly id: string;
  readonly version: number;
  readonly content: RecordContent;
}

export interface RecordMacs {
  make(draft: RecordDraft, random: Random): StoredRecord;
  /** Whether it is as this installation has made it. */
  isGenuine(record: StoredRecord): boolean;
}

const SALT_BYTES = 16;
const NUMBER_BYTES = 2;

/**
 * `keys` are made from those that sign, the oldest first: each has its number for ever. `logOrigin` is that of the store: no
 * record of another one counts here, even if it was made with the same keys.
 */
export function createRecordMacs(keys: () => readonly Uint8Array[], logOrigin: () => string): RecordMacs {
  const macOf = (record: Unsealed, number: number): Buffer | undefined => {
    const key = keys()[number - 1];
    if (key === undefined) return undefined;
    const prefix = Buffer.alloc(NUMBER_BYTES);
    prefix.writeUInt16BE(number);
    return Buffer.concat([prefix, hmacSha256(key, textOf(record, logOrigin()))]);
  };
  return {
    make({ owner, kind, id, version, content }, random) {
      const { state, uniqueName, lookup } = content;
      const salt = random.bytes(SALT_BYTES);
      const body = canonicalJson({ ...defined(content), version });
      const record = { owner, kind, id, version, body, state, uniqueName, lookup: bytesOf(lookup), salt };
      const mac = macOf(record, keys().length);
      if (mac === undefined) throw new Error('there is no key to make a MAC with');
      return { ...record, mac };
    },
    isGenuine(record) {
      const { mac } = record;
      const number = mac.length > NUMBER_BYTES ? Buffer.from(mac).readUInt16BE() : 0;
      const expected = macOf(record, number);
      return expected?.length === mac.length && timingSafeEqual(expected, mac);
    },
  };
}

/** The commitment to the record in its notice. */
export function commitmentOfRecord({ salt, body }: Pick<StoredRecord, 'salt' | 'body'>): string {
  return toBase64(commitmentOf(salt, body));
}

type Unsealed = Omit<StoredRecord, 'mac'>;

function textOf(
  { owner, kind, id, version, state, uniqueName, lookup, salt, body }: Unsealed,
  logOrigin: string,
): string {
  const copies = [version, state, uniqueName ?? null, lookup === undefined ? null : toBase64(lookup)];
  return canonicalJson([logOrigin, owner, kind, id, ...copies, toBase64(salt), body]);
}

function bytesOf(hex: string | undefined): Uint8Array | undefined {
  return hex === undefined ? undefined : Buffer.from(hex, 'hex');
}

function defined(content: RecordContent): Record<string, unknown> {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined));
}
