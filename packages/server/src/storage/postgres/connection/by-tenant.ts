// Statements about many tenants at once, which a distributed database would have to gather from many machines, or
// refuses. There they are run per tenant, whose name determines the machine.

import type { TenantId } from '@tallystick/contract';
import { type Row, type Statement, statement, type Transaction, type Value } from './database.ts';

/** A transaction, or the database for a single statement. */
export type Statements = Pick<Transaction, 'query' | 'isDistributed'>;

/** One text in two forms. */
export interface TenantsStatement {
  readonly ofMany: Statement;
  /** Its last parameter is the tenant. */
  readonly ofOne: Statement;
}

/** `only` is appended to a condition: it requires that a column is the tenant, with this parameter number. */
export function ofTenants(
  parameters: number,
  text: (only: (column: string) => string) => string,
): TenantsStatement {
  return {
    ofMany: statement(text(() => '')),
    ofOne: statement(text((column) => ` AND ${column} = $${parameters + 1}`)),
  };
}

/** The rows for all requests; those of a tenant are in the order of its requests, if the statement keeps it. */
export async function rowsFor<W extends { readonly tenant: TenantId }>(
  statements: Statements,
  { ofMany, ofOne }: TenantsStatement,
  requests: readonly W[],
  valuesOf: (requests: readonly W[]) => readonly Value[],
): Promise<Row[]> {
  if (requests.length === 0) return [];
  if (!(await statements.isDistributed())) return statements.query(ofMany, valuesOf(requests));
  const rows: Row[] = [];
  for (const [tenant, own] of Map.groupBy(requests, (request) => request.tenant))
    rows.push(...(await statements.query(ofOne, [...valuesOf(own), tenant])));
  return rows;
}

/** The same for a statement with one row per request: in the order of the requests. */
export async function rowForEach<W extends { readonly tenant: TenantId }>(
  statements: Statements,
  statement: TenantsStatement,
  requests: readonly W[],
  valuesOf: (requests: readonly W[]) => readonly Value[],
): Promise<Row[]> {
  const rows = await rowsFor(statements, statement, requests, valuesOf);
  if (!(await statements.isDistributed())) return rows;
  const inGroups = [...Map.groupBy(requests, (request) => request.tenant).values()].flat();
  const rowOf = new Map(inGroups.map((request, i) => [request, rows[i]!]));
  return requests.map((request) => rowOf.get(request)!);
}
