// The tables behind policies: all their versions, and which of them have decided about an event.

import { violationEvents } from '../../work/violation-statements.ts';

/** Each as it was, with the columns of `records`. `tenant` is the column of the tenant. */
export function pastRecords(tenant: string): string {
  return `CREATE TABLE past_records (
      ${tenant},
      kind        text COLLATE "C" NOT NULL,
      id          text COLLATE "C" NOT NULL,
      version     bigint NOT NULL,
      body        text NOT NULL,
      state       text COLLATE "C" NOT NULL,
      unique_name text COLLATE "C",
      lookup      bytea,
      salt        bytea NOT NULL,
      mac         bytea NOT NULL,
      PRIMARY KEY (tenant_id, kind, id, version)
    )`;
}

/** Once for all events that were decided alike; NULL: the settings of the tenant have. */
export function decisions(tenant: string): readonly string[] {
  return [
    `CREATE TABLE decisions (
      ${tenant},
      -- Made of the body.
      decision bigint NOT NULL,
      body     text NOT NULL,
      PRIMARY KEY (tenant_id, decision)
    )`,
    'ALTER TABLE contents ADD COLUMN decision bigint',
  ];
}

/** An index finds the notices of holds and policies, without a look at the other entries of a log (rows/hold-notices.ts). */
export const HOLD_NOTICES: readonly string[] = [
  `CREATE INDEX entries_of_holds ON entries (tenant_id, leaf_index)
     WHERE substring(entry from 17 for 1) IN ('\\x05'::bytea, '\\x06'::bytea)`,
];

/** The database does not take the JSON apart: it knows no text with a NUL in it. */
export const VIOLATION_EVENTS = violationEvents({
  text: 'text COLLATE "C"',
  eventId: `substring(body from '"eventId":"([^"]*)"')`,
  kept: 'STORED',
});
