// The keys of tenants, sealed with what is in no table: sealing/keyring.ts.

export function keyTables(tenant: string): string[] {
  return [
    `CREATE TABLE tenant_keys (
      ${tenant},
      key_id        text COLLATE "C" NOT NULL,
      purpose       text COLLATE "C" NOT NULL,
      -- In which the content expires; 0: never, or the key is of no content.
      month         integer NOT NULL,
      state         text COLLATE "C" NOT NULL,
      -- The key of the tenant that this one is sealed with; its own id for that one.
      over_id       text COLLATE "C" NOT NULL,
      -- Empty once it is destroyed.
      sealed        bytea NOT NULL,
      -- The key of the keyring that is named in it.
      ring_key      text COLLATE "C" NOT NULL,
      -- How many blocks of nonces were given out.
      blocks        bigint NOT NULL,
      created_at_ms bigint NOT NULL,
      PRIMARY KEY (tenant_id, key_id)
    )`,
    // Of two processes that make the same key at once, one is refused.
    "CREATE UNIQUE INDEX open_tenant_keys ON tenant_keys (tenant_id, purpose, month) WHERE state = 'Open'",
  ];
}
