// The tables of the index of events: lists of segments, and their blocks. They replace one row for each event and each count.

export function segmentTables(tenant: string): string[] {
  return [
    'DROP TABLE docs, view_keys, view_counts, views',
    `CREATE TABLE index_manifests (
      ${tenant},
      version     bigint NOT NULL,
      -- Of what is in segments.
      end_index   bigint NOT NULL,
      is_building boolean NOT NULL,
      body        text NOT NULL,
      PRIMARY KEY (tenant_id)
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE index_blocks (
      ${tenant},
      segment bigint NOT NULL,
      block   integer NOT NULL,
      bytes   bytea NOT NULL,
      PRIMARY KEY (tenant_id, segment, block)
    )`,
    'ALTER TABLE index_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL',
  ];
}

/** Made of the key of fingerprints, and does not lead back to it. What was sealed with that one goes. */
export const INDEX_KEY = [
  `ALTER TABLE tenants ADD COLUMN index_key bytea NOT NULL
   GENERATED ALWAYS AS (sha256('index of events '::bytea || fingerprint_key)) STORED`,
  'TRUNCATE index_manifests, index_blocks',
  // Segments are rewritten for what was removed since they were made.
  'CREATE INDEX deletions_by_notice ON deletions (tenant_id, notice_index)',
];
