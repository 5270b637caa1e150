// The partitions of contents, by the month of expiry: functions of the database that make and drop them. Those of the next two
// years are of one month, behind these they are of a year, and behind twenty years there is one. So there are some fifty,
// whatever the tenants' policies say: a query of contents locks each of them, and the database has room for so many locks only.
// Bounds are what is free between those that are there. A year whose partition exists is not divided when it comes near.

import { SCHEMA } from '../connection/database.ts';
import { DATABASE_ROLES } from './rights.ts';
import { unsampled } from './schema.ts';

/** An arbitrary number: a migration waits for another one, and for partitions that are being made. */
export const MIGRATION_LOCK = 0x7461_6c6c;
/** Everything that reads or writes contents waits for a partition to be dropped, this long at most. */
const DROP_LOCK_MS = 100;
/** Up to here, partitions are of one month. */
const MONTHS_AHEAD = 24;
/** Up to here, they are of one year. */
const YEARS_AHEAD = 20;
const MONTH_MAX = 120_000;

/** Their first and last months, as their names say: `contents_700`, `contents_721_732`. */
const PARTITIONS = `SELECT relname, split_part(relname, '_', 2)::integer AS lo,
    coalesce(nullif(split_part(relname, '_', 3), ''), split_part(relname, '_', 2))::integer AS hi
  FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
  WHERE i.inhparent = '${SCHEMA}.contents'::regclass AND relname ~ '^contents_[0-9]+(_[0-9]+)?$'`;

// The writer has a partition made when it is first needed: it may not create tables, but may call this function. The table is
// created first and then attached, so that reads and writes continue. A name would be looked up in what this session
// remembers of the catalogue; rows of it are read anew.
export const MADE_PARTITIONS = `
  CREATE OR REPLACE FUNCTION ${SCHEMA}.ensure_content_month(month integer) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = ${SCHEMA}, pg_temp AS $$
  DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    year integer := extract(year FROM today)::integer - 1970;
    near integer := year * 12 + extract(month FROM today)::integer + ${MONTHS_AHEAD};
    far integer := (year + ${YEARS_AHEAD}) * 12;
    first integer := month;
    last integer := month;
    part text;
  BEGIN
    IF month < 0 OR month > ${MONTH_MAX} THEN RAISE EXCEPTION 'there is no month %', month; END IF;
    IF EXISTS (SELECT 1 FROM (${PARTITIONS}) AS p WHERE month BETWEEN lo AND hi) THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});
    IF EXISTS (SELECT 1 FROM (${PARTITIONS}) AS p WHERE month BETWEEN lo AND hi) THEN RETURN; END IF;
    IF month > far THEN
      first := far + 1;
      last := ${MONTH_MAX};
    ELSIF month > near THEN
      first := greatest((month - 1) / 12 * 12 + 1, near + 1);
      last := (month - 1) / 12 * 12 + 12;
    END IF;
    SELECT greatest(first, max(hi) FILTER (WHERE hi < month) + 1), least(last, min(lo) FILTER (WHERE lo > month) - 1)
      INTO first, last FROM (${PARTITIONS}) AS p;
    part := 'contents_' || first || CASE WHEN last > first THEN '_' || last ELSE '' END;
    EXECUTE format('CREATE TABLE %I (LIKE contents INCLUDING ALL, CHECK (content_month BETWEEN %s AND %s))', part, first, last);
    EXECUTE format('${unsampled('contents', '%I')}', part);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE contents ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, first, last + 1);
  END $$;
  REVOKE ALL ON FUNCTION ${SCHEMA}.ensure_content_month(integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION ${SCHEMA}.ensure_content_month(integer) TO ${DATABASE_ROLES.Writer};
  SELECT ${SCHEMA}.ensure_content_month(0);
`;

// Drops one empty partition up to a month, so that its space comes back at once; returns whether it did. Row security would
// show its owner no row of it: so it is switched off under a lock that nobody passes, and the search for rows fails rather than being
// filtered. Where the lock is not free soon, nothing is dropped: a next sweep finds it again.
export const DROPPED_PARTITIONS = `
  CREATE OR REPLACE FUNCTION ${SCHEMA}.drop_content_month(upto integer) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${SCHEMA}, pg_temp SET row_security = off SET lock_timeout = '${DROP_LOCK_MS}ms' AS $$
  DECLARE part text; found boolean;
  BEGIN
    FOR part IN SELECT relname FROM (${PARTITIONS}) AS p WHERE lo > 0 AND hi <= upto ORDER BY lo LOOP
      BEGIN
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part);
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', part);
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', part) INTO found;
        IF found THEN
          EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
        ELSE
          EXECUTE format('DROP TABLE %I', part);
          RETURN true;
        END IF;
      EXCEPTION WHEN lock_not_available OR deadlock_detected THEN NULL;
      END;
    END LOOP;
    RETURN false;
  END $$;
  REVOKE ALL ON FUNCTION ${SCHEMA}.drop_content_month(integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION ${SCHEMA}.drop_content_month(integer) TO ${DATABASE_ROLES.Retention};
`;
