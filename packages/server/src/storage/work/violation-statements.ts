// The statements about violations and the windows of thresholds, in SQL that both backends support.

import type { Dialect } from './job-statements.ts';
import { RECORDS_COUNTED_MAX } from '../rows/record-row.ts';

const VIOLATION =
  'tenant_id, violation_id, policy_id, severity, violation_type, classification, detected_ms, status, noted, body';
const WINDOW = 'rule_key, group_key, begins_ms, ends_ms, matches, highest';
const HAS_VALUE = `body LIKE '%"groupKey"%'`;
/** Windows of one rule; those that began first are forgotten. */
export const WINDOWS_MAX = 10_000;

export function violationStatements<S>(dialect: Dialect<S>) {
  return { ...listing(dialect), ...keeping(dialect) };
}

function listing<S>({ oneOf, prepare }: Dialect<S>) {
  const asked = `tenant_id = $1 AND ${oneOf('classification', '$2')} AND ${oneOf('policy_id', '$3')} AND ${oneOf('severity', '$4')}
    AND ${oneOf('violation_type', '$5')} AND ${oneOf('status', '$6')} AND detected_ms >= $7 AND detected_ms <= $8`;
  const isOpen = "status = 'Open'";
  const before = (and: string) =>
    prepare(
      `SELECT ${VIOLATION} FROM violations WHERE ${asked}${and} AND violation_id < $9 ORDER BY violation_id DESC LIMIT $10`,
    );
  const after = (and: string) =>
    prepare(
      `SELECT ${VIOLATION} FROM violations WHERE ${asked}${and} AND violation_id > $9 ORDER BY violation_id LIMIT $10`,
    );
  const count = (and: string) =>
    prepare(
      `SELECT count(*) AS count FROM (SELECT 1 AS one FROM violations WHERE ${asked}${and} LIMIT ${RECORDS_COUNTED_MAX}) AS counted`,
    );
  return {
    violationsBefore: before(''),
    violationsAfter: after(''),
    violationCount: count(''),
    // Said in the statement, so that an index of those alone is used: they are asked for most, and few.
    openBefore: before(` AND ${isOpen}`),
    openAfter: after(` AND ${isOpen}`),
    openCount: count(` AND ${isOpen}`),
  };
}

function keeping<S>({ among, oneOf, prepare }: Dialect<S>) {
  return {
    addViolation: prepare(
      `INSERT INTO violations (${VIOLATION}) VALUES ($1, $2, $3, $4, $5, $6, $7, 'Open', NULL, $8)`,
    ),
    violation: prepare(`SELECT ${VIOLATION} FROM violations WHERE tenant_id = $1 AND violation_id = $2`),
    acknowledge: prepare(
      `UPDATE violations SET status = 'Acknowledged', noted = $3
       WHERE tenant_id = $1 AND violation_id = $2 AND status = 'Open'`,
    ),
    /** Those of thresholds, which may hold a value. */
    withValues: prepare(
      `SELECT violation_id, event_id FROM violations WHERE tenant_id = $1 AND violation_id > $2 AND ${HAS_VALUE}
       ORDER BY violation_id LIMIT $3`,
    ),
    withValuesOf: prepare(
      `SELECT ${VIOLATION} FROM violations WHERE tenant_id = $1 AND ${among('event_id', '$2')} AND ${HAS_VALUE}
       ORDER BY violation_id`,
    ),
    removeViolations: prepare(`DELETE FROM violations WHERE tenant_id = $1 AND ${among('event_id', '$2')}`),
    setBody: prepare('UPDATE violations SET body = $3 WHERE tenant_id = $1 AND violation_id = $2'),
    /** Of one rule; many groups at once, since a lookup by itself may read all windows of the tenant. */
    windows: prepare(
      `SELECT ${WINDOW} FROM windows WHERE tenant_id = $1 AND rule_key = $2 AND ${oneOf('group_key', '$3')}`,
    ),
    setWindow: prepare(
      `INSERT INTO windows (tenant_id, ${WINDOW}) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (tenant_id, rule_key, group_key) DO UPDATE SET begins_ms = excluded.begins_ms,
         ends_ms = excluded.ends_ms, matches = excluded.matches, highest = excluded.highest`,
    ),
    endWindows: prepare('DELETE FROM windows WHERE tenant_id = $1 AND ends_ms <= $2'),
    removeWindows: prepare('DELETE FROM windows WHERE tenant_id = $1 AND begins_ms <= $2'),
    /** All but the newest; of those that began in one moment, the same ones for everybody. */
    trimWindows: prepare(
      `DELETE FROM windows WHERE tenant_id = $1 AND rule_key = $2 AND (begins_ms, group_key) < (
         SELECT begins_ms, group_key FROM windows WHERE tenant_id = $1 AND rule_key = $2
         ORDER BY begins_ms DESC, group_key DESC LIMIT 1 OFFSET ${WINDOWS_MAX - 1})`,
    ),
  };
}

/** The event of a violation, by which those of an event are found: a piece of the body. */
export function violationEvents(of: { text: string; eventId: string; kept: string }): readonly string[] {
  return [
    `ALTER TABLE violations ADD COLUMN event_id ${of.text} GENERATED ALWAYS AS (${of.eventId}) ${of.kept}`,
    'CREATE INDEX violations_by_event ON violations (tenant_id, event_id)',
  ];
}

/** The tables, without the types of columns. */
export function violationTables(types: { text: string; number: string; end: string }): readonly string[] {
  const { text, number, end } = types;
  return [
    `CREATE TABLE violations (
      tenant_id      ${text} NOT NULL,
      violation_id   ${text} NOT NULL,
      policy_id      ${text} NOT NULL,
      severity       ${text} NOT NULL,
      violation_type ${text} NOT NULL,
      -- Of the event.
      classification ${text} NOT NULL,
      detected_ms    ${number} NOT NULL,
      -- 'Open' or 'Acknowledged'.
      status         ${text} NOT NULL,
      -- JSON: by whom, and the comment; NULL while it is open.
      noted          ${text},
      -- JSON: the rest.
      body           ${text} NOT NULL,
      PRIMARY KEY (tenant_id, violation_id)
    )${end}`,
    "CREATE INDEX violations_open ON violations (tenant_id, violation_id) WHERE status = 'Open'",
    `CREATE TABLE windows (
      tenant_id ${text} NOT NULL,
      -- The hash of a rule of a policy with all that it counts by.
      rule_key  ${text} NOT NULL,
      -- The hash of the value that it counts for, under a key of the tenant.
      group_key ${text} NOT NULL,
      begins_ms ${number} NOT NULL,
      ends_ms   ${number} NOT NULL,
      -- How many there were since then.
      matches   ${number} NOT NULL,
      -- The highest classification of those.
      highest   ${text} NOT NULL,
      PRIMARY KEY (tenant_id, rule_key, group_key)
    )${end}`,
    'CREATE INDEX windows_by_beginning ON windows (tenant_id, rule_key, begins_ms, group_key)',
    'CREATE INDEX windows_by_end ON windows (tenant_id, ends_ms)',
  ];
}
