// Opens sealed contents where rows enter the process: what reads the rows after that sees texts and seeds as if they had never been
// sealed. A row brings the sealed keys with it (`SEALED_COLUMNS`), so that a key counts as it is stored at that moment: what was
// destroyed opens nowhere from then on, whatever a process remembers.

import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Classification } from '@tallystick/contract';
import { eventIdText } from '@tallystick/evidence';
import { CLASSIFICATIONS, classificationIn } from '../rows/classification-column.ts';
import { blobOf, ColumnError, readOr, textIn } from '../rows/columns.ts';
import { type BoxedContent, BoxMaker, BoxOpener, type Nonces } from './boxes.ts';
import { ENVELOPE_BYTES, type Keyring, UnknownRingKey, UnusableKey } from './keyring.ts';
import { hmacSha256 } from '../../runtime/hmac.ts';

type Row = Readonly<Record<string, unknown>>;

interface Dialect {
  /** The column of the tenant. */
  readonly owner: string;
  readonly tenantId: string;
  readonly joined: (...parts: readonly string[]) => string;
  readonly bytes: (text: string) => string;
}

function sealedKeys({ owner, joined, bytes }: Dialect): string {
  return `SELECT ${joined('own_key.sealed', 'tenant_key.sealed', bytes('tenant_key.key_id'))} AS sealed_keys
    FROM tenant_keys AS own_key JOIN tenant_keys AS tenant_key
      ON tenant_key.${owner} = own_key.${owner} AND tenant_key.key_id = own_key.over_id`;
}

function sealedColumns(dialect: Dialect): string {
  const { owner, tenantId } = dialect;
  const keys = `${sealedKeys(dialect)} WHERE own_key.${owner} = entries.${owner} AND own_key.key_id = contents.key_id`;
  return `contents.key_id, CASE WHEN contents.key_id IS NOT NULL THEN ${tenantId} END AS sealed_of,
    CASE WHEN contents.key_id IS NOT NULL THEN (${keys}) END AS sealed_keys`;
}

const DIALECTS = {
  SQLite: {
    owner: 'tenant',
    tenantId: '(SELECT tenant_id FROM tenants WHERE tenants.tenant = entries.tenant)',
    joined: (...parts) => `CAST(${parts.join(' || ')} AS BLOB)`,
    bytes: (text) => text,
  },
  PostgreSQL: {
    owner: 'tenant_id',
    tenantId: 'entries.tenant_id',
    joined: (...parts) => parts.join(' || '),
    bytes: (text) => `convert_to(${text}, 'UTF8')`,
  },
} as const satisfies Record<string, Dialect>;

/**
 * The columns that `open` needs besides entry, text1, text2 and seeds, of entries joined with their contents: the keys are those of
 * the content and of its tenant, sealed, and the id of the latter.
 */
export const SEALED_COLUMNS = {
  SQLite: sealedColumns(DIALECTS.SQLite),
  PostgreSQL: sealedColumns(DIALECTS.PostgreSQL),
} as const;

/** The keys of one content key, for who reads many rows under it: its tenant and its id are to be given. */
export const SEALED_KEYS = `${sealedKeys(DIALECTS.SQLite)} WHERE own_key.tenant = ? AND own_key.key_id = ?`;

const KEY_ID_BYTES = 26;
const KEYS_REMEMBERED_MAX = 10_000;
const EVENT_ID_AT = 36;
const EVENT_ID_BYTES = 16;

const NO_BYTES = new Uint8Array(0);

const decoder = new TextDecoder();

const SEALED_FAULT = 'sealed_fault';

/** Why the content of a row did not open, if it is sealed. */
export function sealedFaultIn(row: Row): string | undefined {
  if (!isSealed(row)) return undefined;
  const said = row[SEALED_FAULT];
  return typeof said === 'string' ? said : 'its content is sealed, and was not opened';
}

export class SealedRows {
  readonly #ring: Keyring | undefined;
  readonly #keys = new Map<string, KeyObject>();
  /** Most rows that are read together are under one key. */
  #last: { readonly tenant: string; readonly keyId: string; readonly key: KeyObject } | undefined;

  readonly #boxes = new BoxOpener();
  readonly #isVerifying: boolean;

  /** Without a keyring every sealed content is a fault. */
  constructor(ring: Keyring | undefined, isVerifying = false) {
    this.#ring = ring;
    this.#isVerifying = isVerifying;
  }

  /** For a verifier, whose keyring is whole: a key that it lacks is a fault of the row, too. */
  static toVerify(ring: Keyring | undefined): SealedRows {
    return new SealedRows(ring, true);
  }

  /**
   * Takes rows with `entry`, `text1` and SEALED_COLUMNS. A row that is not sealed is returned as it is; one that does not open
   * says why in `sealedFaultIn`. Throws UnknownRingKey.
   */
  open<R extends Row>(row: R): R {
    if (!isSealed(row)) return row;
    const opened = { ...row };
    this.#orFault(opened, () => {
      const { closed = null, ...open } = this.#opened(row, (...args) => this.#boxes.open(...args));
      Object.assign(opened, open, { closed, key_id: null });
    });
    return opened;
  }

  /**
   * The same for the index, which has the row for itself and reads nothing but the texts: they are put into the row as strings, as a
   * copy of a row and views of its parts cost as much as the opening. `box` is what the row has read of SEALED_COLUMNS.
   */
  openTexts<R extends Row>(row: R, box?: SealedBox): R {
    if (!isSealed(row)) return row;
    this.#orFault(row, () => {
      const texts = this.#opened(row, (...args) => this.#boxes.openTexts(...args), box ?? sealedBoxIn(row));
      const own: Record<string, unknown> = row;
      own['text1'] = texts.text1;
      own['text2'] = texts.text2;
      own['key_id'] = null;
    });
    return row;
  }

  /** Whether a sealed row is one of MAY_BE_SEEN, which cannot look into it: by its column, or by the value in its text. */
  mayBeSeen(row: Row, visible: readonly Classification[]): boolean {
    if (row['key_id'] === null || visible.length === CLASSIFICATIONS.length) return true;
    const column = readOr(() => classificationIn(row), undefined);
    if (column !== undefined && visible.includes(column)) return true;
    const text = readOr(() => Buffer.from(blobOf(this.open(row), 'text1')), undefined);
    return text !== undefined && visible.some((name) => text.includes(`"classification":"${name}"`));
  }

  /**
   * What the index of a tenant is encrypted with, made of its keys: `rows` have `key_id` and `sealed`. One that does not open is left
   * out; the verifier of the keys tells of it.
   */
  indexSecrets(tenant: string, rows: readonly Row[]): Uint8Array[] {
    const ring = this.#ring;
    if (ring === undefined) return [];
    return rows.flatMap((row) => {
      try {
        const name = { tenant, purpose: 'Tenant', keyId: textIn(row, 'key_id') } as const;
        return [hmacSha256(ring.open(blobOf(row, 'sealed'), name), 'index of events')];
      } catch (error) {
        if (error instanceof UnusableKey || error instanceof ColumnError) return [];
        throw error;
      }
    });
  }

  /** The box of a content that was read sealed, and is changed since. `row` is as it was stored. */
  reseal(row: Row, changed: BoxedContent, nonces: Nonces): Uint8Array {
    if (this.#ring === undefined) throw new UnusableKey('there is no keyring to seal with');
    const { tenant, keys } = sealedBoxIn(row);
    const key = this.#keyOf(this.#ring, tenant, textIn(row, 'key_id'), keys);
    return new BoxMaker().make(changed, { tenant, eventId: eventIdOf(row) }, key, nonces);
  }

  /** Changes the row if it does not open. */
  #orFault(row: Row, open: () => void): void {
    try {
      open();
    } catch (error) {
      const isFault =
        error instanceof UnusableKey && (this.#isVerifying || !(error instanceof UnknownRingKey));
      if (!isFault) throw error;
      Object.assign(row, { text1: null, text2: null, seeds: null, [SEALED_FAULT]: error.message });
    }
  }

  #opened<T>(
    row: Row,
    open: (...args: Parameters<BoxOpener['open']>) => T | undefined,
    { tenant, keys, isAlone }: SealedBox = sealedBoxIn(row),
  ): T {
    const ring = this.#ring;
    if (ring === undefined)
      throw new UnusableKey('its content is sealed, and there is no keyring to open it');
    const keyId = readOr(() => textIn(row, 'key_id'), '');
    const key = this.#keyOf(ring, tenant, keyId, keys);
    const eventId = eventIdOf(row);
    const box = readOr(() => blobOf(row, 'text1'), NO_BYTES);
    const content = isAlone ? open(box, { tenant, eventId }, key) : undefined;
    if (content === undefined)
      throw new UnusableKey(
        `its content is not what was hashed: no such box was sealed for ${eventIdIn(eventId)}`,
      );
    return content;
  }

  #keyOf(ring: Keyring, tenant: string, keyId: string, keys: Uint8Array | undefined): KeyObject {
    if (keys === undefined) throw new UnusableKey(`its data key ${keyId} is not there`);
    // Of a destroyed key nothing is left.
    if (keys.length === KEY_ID_BYTES || keys.length === ENVELOPE_BYTES + KEY_ID_BYTES)
      throw new UnusableKey(
        `its data key ${keyId} is destroyed, and it is still stored: no notice deletes it, or it was put back`,
      );
    if (keys.length !== 2 * ENVELOPE_BYTES + KEY_ID_BYTES)
      throw new UnusableKey(`its data key ${keyId} is not what was stored`);
    if (keyId === this.#last?.keyId && tenant === this.#last.tenant) return this.#last.key;
    const key = this.#rememberedKey(ring, tenant, keyId, keys);
    this.#last = { tenant, keyId, key };
    return key;
  }

  #rememberedKey(ring: Keyring, tenant: string, keyId: string, keys: Uint8Array): KeyObject {
    const name = `${tenant} ${keyId}`;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const overId = decoder.decode(keys.subarray(2 * ENVELOPE_BYTES));
    const over = keys.subarray(ENVELOPE_BYTES, 2 * ENVELOPE_BYTES);
    const tenantKey = ring.open(over, { tenant, purpose: 'Tenant', keyId: overId });
    const sealed = keys.subarray(0, ENVELOPE_BYTES);
    const key = createSecretKey(ring.open(sealed, { tenant, purpose: 'Content', keyId }, tenantKey));
    if (this.#keys.size >= KEYS_REMEMBERED_MAX) this.#keys.clear();
    this.#keys.set(name, key);
    return key;
  }
}

function isSealed(row: Row): boolean {
  const keyId = row['key_id'];
  return keyId !== null && keyId !== undefined;
}

/** Of SEALED_COLUMNS. */
export interface SealedBox {
  readonly tenant: string;
  /** As `sealed_keys` has them; undefined: there are none. */
  readonly keys: Uint8Array | undefined;
  /** There is nothing beside the box, as no texts and seeds in the clear are. */
  readonly isAlone: boolean;
}

function sealedBoxIn(row: Row): SealedBox {
  return {
    tenant: readOr(() => textIn(row, 'sealed_of'), ''),
    keys: sealedKeysIn(row),
    isAlone: isNothing(row['text2']) && isNothing(row['seeds']) && (row['closed'] ?? undefined) === undefined,
  };
}

export function sealedKeysIn(row: Row | undefined): Uint8Array | undefined {
  return readOr(() => blobOf(row, 'sealed_keys'), undefined);
}

/** What lies beside a box. */
function isNothing(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === 0;
}

function eventIdOf(row: Row): Uint8Array {
  return blobOf(row, 'entry').subarray(EVENT_ID_AT, EVENT_ID_AT + EVENT_ID_BYTES);
}

function eventIdIn(bytes: Uint8Array): string {
  return bytes.length === EVENT_ID_BYTES ? eventIdText(bytes) : 'this event';
}
