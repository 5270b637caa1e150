// Divides a large table: into partitions by tenant in one database, into shards if tables are distributed.

/** A large tenant then shares its indexes with few others; the number cannot change later. */
const PARTITIONS = 16;

/** The clause after the columns of a large table. */
export type Divide = (table: string) => string;

/** For a single database. */
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

/** The name of the partition with a tenant's rows, as an expression. */
export function partOf(table: string, tenant: string): string {
  return `(SELECT '${table}_' || i FROM generate_series(0, ${PARTITIONS - 1}) AS i
    WHERE satisfies_hash_partition('${table}'::regclass, ${PARTITIONS}, i, ${tenant}::text))`;
}

/** Distributed tables have shards instead, and cannot have hash partitions. */
export const byShards: Divide = () => ';';
