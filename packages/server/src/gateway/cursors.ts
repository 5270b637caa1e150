// Cursors: where a page begins, in a form that a caller can keep and give back, but neither make nor bend. One is good
// for its tenant, operation, filters and sort order, for 24 hours by the clock given.
//
// base64url of: 1 byte format | 8 tenant | 16 scope | 6 issued at (Unix ms) | position as JSON | 16 MAC | 4 checksum
//
// Tenants do not share a key, so nobody can tell whether a cursor is good for another one. `tenant` and `checksum` are
// plain hashes, which anybody can make: they only decide what an unusable cursor is called – altered, if the checksum
// is wrong, or another tenant's – and are answered the same whether or not it would work there. What the MAC says
// comes first within the tenant, then the scope, then the age.

import { createSecretKey, hash, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LIMITS } from '@tallystick/contract';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import { cursorError, type Cursors, type CursorScope, type Direction, type Position } from '../paging.ts';
import type { Clock } from '../runtime/clock.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

export interface CursorParts {
  /** A secret of the tenant. It has other uses, so cursors are authenticated with a key that is derived from it. */
  readonly keyOf: (tenant: TenantRecord) => Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
}

const FORMAT = 1;
const KEY_LABEL = 'tallystick cursor';
const TENANT_AT = 1;
const SCOPE_AT = TENANT_AT + 8;
const ISSUED_AT = SCOPE_AT + 16;
const POSITION_AT = ISSUED_AT + 6;
const MAC_BYTES = 16;
const CHECKSUM_BYTES = 4;
const BYTES_MIN = POSITION_AT + MAC_BYTES + CHECKSUM_BYTES;

const LETTER = { Next: 'N', Previous: 'P' } as const satisfies Record<Direction, string>;

export function createCursors({ keyOf, clock }: CursorParts): Cursors {
  /** Every list makes a cursor or two, and to derive a key takes longer than all the rest of one. */
  const keys = new WeakMap<TenantRecord, KeyObject>();
  const cursorKey = (tenant: TenantRecord) => {
    let key = keys.get(tenant);
    if (key === undefined) {
      key = createSecretKey(Buffer.from(hkdfSync('sha256', keyOf(tenant), '', KEY_LABEL, 32)));
      keys.set(tenant, key);
    }
    return key;
  };
  return {
    make(scope, position) {
      const { tenant } = scope;
      if (tenant === undefined) throw new Error(`${scope.operation} has rows of a tenant that is not known`);
      const key = cursorKey(tenant);
      const head = Buffer.alloc(POSITION_AT);
      head[0] = FORMAT;
      tenantTag(tenant).copy(head, TENANT_AT);
      scopeTag(key, scope).copy(head, SCOPE_AT);
      head.writeUIntBE(clock.now(), ISSUED_AT, POSITION_AT - ISSUED_AT);
      const said = Buffer.concat([head, positionBytes(position)]);
      const signed = Buffer.concat([said, macOf(key, said)]);
      const cursor = Buffer.concat([signed, checksumOf(signed)]).toString('base64url');
      if (cursor.length <= LIMITS.cursorLengthMax) return cursor;
      throw new Error(`a cursor of ${scope.operation} has ${cursor.length} characters`);
    },
    read(scope, cursor) {
      const { said, mac } = takeApart(cursor);
      const { tenant } = scope;
      if (tenant === undefined || !tenantTag(tenant).equals(said.subarray(TENANT_AT, SCOPE_AT)))
        throw cursorError('CURSOR_MISMATCH');
      const key = cursorKey(tenant);
      if (!timingSafeEqual(mac, macOf(key, said))) throw cursorError('CURSOR_INVALID');
      if (!scopeTag(key, scope).equals(said.subarray(SCOPE_AT, ISSUED_AT)))
        throw cursorError('CURSOR_MISMATCH');
      const issuedMs = said.readUIntBE(ISSUED_AT, POSITION_AT - ISSUED_AT);
      if (clock.now() - issuedMs > LIMITS.cursorLifetimeMs) throw cursorError('CURSOR_EXPIRED');
      return positionOf(said.subarray(POSITION_AT));
    },
  };
}

function takeApart(cursor: string): { said: Buffer; mac: Buffer } {
  const bytes = Buffer.from(cursor, 'base64url');
  // Decoding accepts texts that encoding never makes; a cursor has one text.
  if (bytes.toString('base64url') !== cursor || bytes.length < BYTES_MIN || bytes[0] !== FORMAT)
    throw cursorError('CURSOR_INVALID');
  const macAt = bytes.length - CHECKSUM_BYTES - MAC_BYTES;
  const checksumAt = bytes.length - CHECKSUM_BYTES;
  if (!checksumOf(bytes.subarray(0, checksumAt)).equals(bytes.subarray(checksumAt)))
    throw cursorError('CURSOR_INVALID');
  return { said: bytes.subarray(0, macAt), mac: bytes.subarray(macAt, checksumAt) };
}

function positionBytes({ direction, at }: Position): Buffer {
  return Buffer.from(LETTER[direction] + canonicalJson(at));
}

function positionOf(bytes: Buffer): Position {
  const text = bytes.toString();
  return { direction: text.startsWith(LETTER.Next) ? 'Next' : 'Previous', at: parseJson(text.slice(1)) };
}

const tenantTag = ({ tenantId }: TenantRecord): Buffer =>
  hash('sha256', `${KEY_LABEL} of ${tenantId}`, 'buffer').subarray(0, SCOPE_AT - TENANT_AT);

/** Under the key, because the request behind a bare hash could be guessed from a leaked cursor. */
function scopeTag(key: KeyObject, { operation, asked }: CursorScope): Buffer {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined && value !== null);
  // The MAC of a cursor begins with its format, a number that no operation's name begins with.
  const text = `${operation}\n${canonicalJson(Object.fromEntries(given))}`;
  return hmacSha256(key, text).subarray(0, ISSUED_AT - SCOPE_AT);
}

const macOf = (key: KeyObject, bytes: Buffer): Buffer => hmacSha256(key, bytes).subarray(0, MAC_BYTES);

const checksumOf = (bytes: Buffer): Buffer => hash('sha256', bytes, 'buffer').subarray(0, CHECKSUM_BYTES);
