// The events of which single units were removed, with their notices; made of redaction notices in the commit of each. All
// indexes are those of the tenant's sequence.

/** `tenant` is the column of the tenant. */
export function redactions(tenant: string): readonly string[] {
  return [
    `CREATE TABLE redactions (
      ${tenant},
      leaf_index   bigint NOT NULL,
      notice_index bigint NOT NULL,
      PRIMARY KEY (tenant_id, leaf_index, notice_index)
    )`,
    'CREATE INDEX redactions_by_notice ON redactions (tenant_id, notice_index)',
    // What deleted units have left, in the form of rows/punctured.ts; NULL: the content is whole.
    'ALTER TABLE contents ADD COLUMN closed bytea',
  ];
}
