// The tables of the catalogue that are made from the log, or keep work: they prove nothing, and no copy takes them along.

import type { Right, Table } from './table.ts';

const READ: readonly Right[] = ['SELECT'];
const ADD: readonly Right[] = ['SELECT', 'INSERT'];
const ALL: readonly Right[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

const OF_THE_INDEX =
  'a part of the index of events: it proves nothing, and is compared with what the log makes of it';

export const WORK_TABLES = {
  refused_logs: {
    of: 'Tenant',
    only: 'PostgreSQL',
    // A new log discards the findings about the previous one.
    rights: { Writer: ['SELECT', 'DELETE'], Projector: ALL },
    not: 'findings of nodes; every verification finds them again',
  },
  index_manifests: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Reader: READ, Projector: ALL, Verifier: READ },
    not: OF_THE_INDEX,
  },
  index_blocks: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Reader: READ, Projector: ALL, Verifier: READ },
    not: OF_THE_INDEX,
  },
  outbox: {
    of: 'Tenant',
    only: 'SQLite',
    rights: {},
    not: 'jobs on their way to work.db',
  },
  jobs: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Writer: ALL, Reader: READ, Projector: ALL },
    not: 'work that waits or was done; what it does to the log is in the log',
  },
  lanes: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Writer: ALL, Reader: READ, Projector: ALL },
    not: 'which jobs wait for somebody to open their lane',
  },
  positions: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Reader: READ, Projector: ALL },
    not: 'how far followers have come',
  },
  violations: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Writer: ['SELECT', 'UPDATE', 'DELETE'], Reader: READ, Projector: ADD },
    not: 'what rules have found in events; both are in the log',
  },
  windows: {
    of: 'Tenant',
    only: 'PostgreSQL',
    rights: { Writer: ['SELECT', 'DELETE'], Reader: READ, Projector: ALL },
    not: 'what thresholds have counted; the events are in the log',
  },
} as const satisfies Readonly<Record<string, Table>>;
