// Reads of one tenant's rows: by a node, in the role that it reads with, or of the one state that is verified.

import type { TenantId } from '@tallystick/contract';
import type { Statements } from '../connection/by-tenant.ts';
import type { Database, DatabaseScope, Row, Statement, Value } from '../connection/database.ts';

export interface TenantReads {
  query(tenant: TenantId, statement: Statement, values: readonly Value[]): Promise<Row[]>;
  inOneState<T>(tenant: TenantId, read: (statements: Statements) => Promise<T>): Promise<T>;
}

/** The one who searches sees one tenant, the one who makes segments all. */
export function readsOver(database: Database, scopeOf: (tenant: TenantId) => DatabaseScope): TenantReads {
  return {
    query: (tenant, statement, values) => database.read(scopeOf(tenant), statement, values),
    inOneState: (tenant, read) => database.inOneState(scopeOf(tenant), read),
  };
}

export function readsIn(state: Statements): TenantReads {
  return {
    query: (_tenant, statement, values) => state.query(statement, values),
    inOneState: (_tenant, read) => read(state),
  };
}
