// What is copied from one database to another, table by table: all that is neither made again from it, as the index of
// events is, nor a fact about one of the databases alone. Columns of the same name hold the same in every backend: texts
// and bytes as they are, times and numbers as whole numbers. So whatever is not said here is equal. What differs between
// them is for each backend: how it calls a tenant, and where it has its contents.

export type CopiedKind = 'Text' | 'Whole' | 'Bytes';
export type CopiedValue = string | number | Uint8Array | null;
export type CopiedRow = Readonly<Record<string, CopiedValue>>;

export interface CopiedTable {
  readonly name: string;
  /** The order in which rows are copied, and what no two of them share; the tenant comes first. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, CopiedKind>>;
}

const TENANT = { tenant_id: 'Text' } as const;

export const COPIED_TABLES: readonly CopiedTable[] = [
  {
    name: 'tenants',
    key: ['tenant_id'],
    columns: {
      ...TENANT,
      fingerprint_key: 'Bytes',
      created_at_ms: 'Whole',
    },
  },
  {
    name: 'records',
    key: ['tenant_id', 'kind', 'id'],
    columns: {
      ...TENANT,
      kind: 'Text',
      id: 'Text',
      version: 'Whole',
      body: 'Text',
      state: 'Text',
      unique_name: 'Text',
      lookup: 'Bytes',
      salt: 'Bytes',
      mac: 'Bytes',
    },
  },
  {
    name: 'api_key_uses',
    key: ['tenant_id', 'key_id'],
    columns: { ...TENANT, key_id: 'Text', used_at_ms: 'Whole' },
  },
  {
    name: 'epochs',
    key: ['tenant_id', 'epoch'],
    columns: { ...TENANT, epoch: 'Whole', first_index: 'Whole', previous_checkpoint: 'Text' },
  },
  {
    name: 'streams',
    key: ['tenant_id', 'first_index'],
    columns: { ...TENANT, first_index: 'Whole', stream_id: 'Text', created_at_ms: 'Whole' },
  },
  {
    name: 'entries',
    key: ['tenant_id', 'leaf_index'],
    columns: {
      ...TENANT,
      leaf_index: 'Whole',
      classification: 'Whole',
      entry: 'Bytes',
      leaf: 'Bytes',
      root1: 'Bytes',
      root2: 'Bytes',
      // That of the content, as long as there is one: for a backend that has contents apart by it.
      expires_at_ms: 'Whole',
    },
  },
  {
    name: 'contents',
    key: ['tenant_id', 'leaf_index'],
    columns: {
      ...TENANT,
      leaf_index: 'Whole',
      text1: 'Bytes',
      text2: 'Bytes',
      seeds: 'Bytes',
      key_id: 'Text',
      sent_fingerprint: 'Bytes',
      expires_at_ms: 'Whole',
    },
  },
  {
    name: 'checkpoints',
    key: ['tenant_id', 'epoch', 'size'],
    columns: { ...TENANT, epoch: 'Whole', size: 'Whole', note: 'Text', published_at_ms: 'Whole' },
  },
  {
    name: 'tile_hashes',
    key: ['tenant_id', 'epoch', 'level', 'place'],
    columns: { ...TENANT, epoch: 'Whole', level: 'Whole', place: 'Whole', hash: 'Bytes' },
  },
  {
    name: 'used_keys',
    key: ['tenant_id', 'operation', 'key'],
    columns: {
      ...TENANT,
      operation: 'Text',
      key: 'Text',
      fingerprint: 'Bytes',
      classification: 'Whole',
      expires_at_ms: 'Whole',
      note: 'Text',
      outcomes: 'Bytes',
    },
  },
  // Where each log ends; a backend that has no such table makes it of the entries.
  { name: 'heads', key: ['tenant_id'], columns: { ...TENANT, next_index: 'Whole', leaf: 'Bytes' } },
];

export function keyIn({ key }: CopiedTable, row: CopiedRow): CopiedValue[] {
  return key.map((column) => row[column] ?? null);
}

/** So many are written by one statement; fewer, where they are large. */
const PORTION_ROWS = 2000;
const PORTION_BYTES = 4 * 1024 * 1024;

/** As many rows at a time as fit into memory easily, whatever they hold. */
export function* portionsOf(rows: Iterable<CopiedRow>): Generator<CopiedRow[]> {
  let portion: CopiedRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    portion.push(row);
    for (const value of Object.values(row)) bytes += lengthOf(value);
    if (portion.length < PORTION_ROWS && bytes < PORTION_BYTES) continue;
    yield portion;
    portion = [];
    bytes = 0;
  }
  if (portion.length > 0) yield portion;
}

function lengthOf(value: CopiedValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
}
