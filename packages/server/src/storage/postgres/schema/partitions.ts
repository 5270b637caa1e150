// How a large table is divided: into partitions by tenant in one database, into shards where tables are distributed.

/** So that a large tenant shares its indexes with few others; the number cannot change later. */
const PARTITIONS = 16;

/** What stands behind the columns of a large table. */
export type Divide = (table: string) => string;

/** In one database. */
export const byPartitions: Divide = (table) => {
  const partitions = partsOf(table).map(
    (part, i) => `CREATE TABLE ${part} PARTITION OF ${table}
    FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${i});`,
  );
  return ` PARTITION BY HASH (tenant_id);\n  ${partitions.join('\n  ')}`;
};

export function partsOf(table: string): string[] {
  return Array.from({ length: PARTITIONS }, (_, i) => `${table}_${i}`);
}

/** The name of the partition that a tenant's rows are in, as an expression. */
export function partOf(table: string, tenant: string): string {
  return `(SELECT '${table}_' || i FROM generate_series(0, ${PARTITIONS - 1}) AS i
    WHERE satisfies_hash_partition('${table}'::regclass, ${PARTITIONS}, i, ${tenant}::text))`;
}

/** Where the tables are distributed, the shards are that already; and partitions by a hash cannot be. */
export const byShards: Divide = () => ';';
