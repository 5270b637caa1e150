// Violations and the windows of thresholds in tables, with the same code for both backends.

import type { Classification, TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type {
  AlertChanges,
  NewViolation,
  StoredViolation,
  ThresholdWindow,
  TenantViolations,
  ViolationFilter,
  ViolationNoted,
  ViolationStore,
  WindowKey,
} from '../../alerts/violations.ts';
import type { RowsRequest } from '../../paging.ts';
import { type Calls, callsFor } from '../../runtime/calls.ts';
import { numberOf, textIn, textOrNone } from '../rows/columns.ts';
import { LAST_ID } from '../rows/last-id.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';

/** Behind every moment. */
const LAST_MS = Number.MAX_SAFE_INTEGER;
/** The events of one commit. */
const EVENTS_AT_ONCE = 500;

export class ViolationTables<S> {
  readonly #database: JobDatabase<S>;

  constructor(database: JobDatabase<S>) {
    this.#database = database;
  }

  /** Runs as part of a larger transaction. */
  async add(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    { violations, windows, nowMs }: AlertChanges,
  ): Promise<void> {
    const { addViolation, setWindow, endWindows, trimWindows } = this.#database.statements;
    const change = (statement: S, values: readonly JobValue[]) => transaction.change(statement, values);
    const ruleKeys = new Set(windows.map(({ ruleKey }) => ruleKey));
    await Promise.all([
      ...violations.map((each) => change(addViolation, [tenant, ...valuesOf(each)])),
      ...windows.map((each) => change(setWindow, [tenant, ...valuesOfWindow(each)])),
    ]);
    if (windows.length > 0) await change(endWindows, [tenant, nowMs]);
    for (const ruleKey of ruleKeys) await change(trimWindows, [tenant, ruleKey]);
  }

  windows(tenant: TenantId, keys: readonly WindowKey[]): Promise<ThresholdWindow[]> {
    return this.#reading(tenant, async (transaction) => {
      const { windows } = this.#database.statements;
      const ofRules = Map.groupBy(keys, ({ ruleKey }) => ruleKey);
      const rows = await Promise.all(
        [...ofRules].map(([ruleKey, ofRule]) => {
          const groups = JSON.stringify(ofRule.map(({ groupKey }) => groupKey));
          return transaction.query(windows, [tenant, ruleKey, groups]);
        }),
      );
      return rows.flat().map(windowIn);
    });
  }

  list(
    tenant: TenantId,
    filter: ViolationFilter,
    { way, beyond, limit }: RowsRequest,
  ): Promise<StoredViolation[]> {
    const { before, after } = this.#listing(filter);
    const asked = askedBy(tenant, filter);
    return this.#reading(tenant, async (transaction) => {
      const rows =
        way === 'Falling'
          ? await transaction.query(before, [...asked, beyond ?? LAST_ID, limit])
          : await transaction.query(after, [...asked, beyond ?? '', limit]);
      return rows.map(violationIn);
    });
  }

  count(tenant: TenantId, filter: ViolationFilter): Promise<number> {
    return this.#reading(tenant, async (transaction) => {
      const [row] = await transaction.query(this.#listing(filter).count, askedBy(tenant, filter));
      return numberOf(row, 'count');
    });
  }

  #listing({ status }: ViolationFilter): { readonly before: S; readonly after: S; readonly count: S } {
    const { violationsBefore, violationsAfter, violationCount, ...others } = this.#database.statements;
    return status?.length === 1 && status[0] === 'Open'
      ? { before: others.openBefore, after: others.openAfter, count: others.openCount }
      : { before: violationsBefore, after: violationsAfter, count: violationCount };
  }

  find(tenant: TenantId, violationId: string): Promise<StoredViolation | undefined> {
    return this.#reading(tenant, (transaction) => this.#found(transaction, tenant, violationId));
  }

  acknowledge(
    tenant: TenantId,
    violationId: string,
    noted: ViolationNoted,
  ): Promise<StoredViolation | undefined> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      const { acknowledge } = this.#database.statements;
      // As JSON: a column of text cannot hold every character.
      await transaction.change(acknowledge, [tenant, violationId, JSON.stringify(noted)]);
      return this.#found(transaction, tenant, violationId);
    });
  }

  forgetValues(tenant: TenantId, eventIds: readonly string[]): Promise<void> {
    const { withValuesOf, setBody } = this.#database.statements;
    return this.#changeOf(tenant, eventIds, async (transaction, list) => {
      for (const row of await transaction.query(withValuesOf, [tenant, list])) {
        const { groupKey: _, ...left } = parseJson(textIn(row, 'body')) as Body;
        await transaction.change(setBody, [tenant, textIn(row, 'violation_id'), JSON.stringify(left)]);
      }
    });
  }

  withValues(
    tenant: TenantId,
    after: string,
    limit: number,
  ): Promise<Pick<StoredViolation, 'violationId' | 'eventId'>[]> {
    return this.#reading(tenant, async (transaction) => {
      const rows = await transaction.query(this.#database.statements.withValues, [tenant, after, limit]);
      return rows.map((row) => ({
        violationId: textIn(row, 'violation_id'),
        eventId: textIn(row, 'event_id'),
      }));
    });
  }

  removeOf(tenant: TenantId, eventIds: readonly string[]): Promise<void> {
    const { removeViolations } = this.#database.statements;
    return this.#changeOf(tenant, eventIds, (transaction, list) =>
      transaction.change(removeViolations, [tenant, list]),
    );
  }

  removeWindows(tenant: TenantId, begunUntilMs: number): Promise<void> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      await transaction.change(this.#database.statements.removeWindows, [tenant, begunUntilMs]);
    });
  }

  /** Some events after the others, each time in one commit. */
  async #changeOf(
    tenant: TenantId,
    eventIds: readonly string[],
    change: (transaction: JobTransaction<S>, list: string) => Promise<unknown>,
  ): Promise<void> {
    for (let from = 0; from < eventIds.length; from += EVENTS_AT_ONCE) {
      const list = JSON.stringify(eventIds.slice(from, from + EVENTS_AT_ONCE));
      await this.#database.inTransaction({ tenant }, (transaction) => change(transaction, list));
    }
  }

  async #found(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    violationId: string,
  ): Promise<StoredViolation | undefined> {
    const [row] = await transaction.query(this.#database.statements.violation, [tenant, violationId]);
    return row && violationIn(row);
  }

  #reading<T>(tenant: TenantId, read: (transaction: JobTransaction<S>) => Promise<T>): Promise<T> {
    return this.#database.inTransaction({ tenant, isRead: true }, read);
  }
}

export function violationStoreOn(tables: Calls<ViolationTables<unknown>>): ViolationStore {
  return { forTenant: (tenant): TenantViolations => callsFor(tenant, tables) };
}

/** In the order of the statements. */
function askedBy(tenant: TenantId, filter: ViolationFilter): JobValue[] {
  const { classification, policyId, severity, violationType, status, fromMs = 0, toMs = LAST_MS } = filter;
  const lists = [classification, policyId, severity, violationType, status];
  return [tenant, ...lists.map((list) => (list === undefined ? null : JSON.stringify(list))), fromMs, toMs];
}

type Body = Omit<
  NewViolation,
  'violationId' | 'policyId' | 'severity' | 'violationType' | 'classification' | 'detectedAtMs'
>;

function valuesOf(violation: NewViolation): JobValue[] {
  const { violationId, policyId, severity, violationType, classification, detectedAtMs, ...rest } = violation;
  const body: Body = rest;
  return [violationId, policyId, severity, violationType, classification, detectedAtMs, JSON.stringify(body)];
}

function violationIn(row: JobRow): StoredViolation {
  // Only `add` and `acknowledge` write these.
  const notedText = textOrNone(row, 'noted');
  return {
    ...(parseJson(textIn(row, 'body')) as Body),
    tenant: textIn(row, 'tenant_id'),
    violationId: textIn(row, 'violation_id'),
    policyId: textIn(row, 'policy_id'),
    severity: textIn(row, 'severity') as StoredViolation['severity'],
    violationType: textIn(row, 'violation_type'),
    classification: textIn(row, 'classification') as Classification,
    detectedAtMs: numberOf(row, 'detected_ms'),
    acknowledged: notedText === undefined ? undefined : (parseJson(notedText) as ViolationNoted),
  };
}

function valuesOfWindow(window: ThresholdWindow): JobValue[] {
  const { ruleKey, groupKey, beginsAtMs, endsAtMs, count, highest } = window;
  return [ruleKey, groupKey, beginsAtMs, endsAtMs, count, highest];
}

function windowIn(row: JobRow): ThresholdWindow {
  return {
    ruleKey: textIn(row, 'rule_key'),
    groupKey: textIn(row, 'group_key'),
    beginsAtMs: numberOf(row, 'begins_ms'),
    endsAtMs: numberOf(row, 'ends_ms'),
    count: numberOf(row, 'matches'),
    highest: textIn(row, 'highest') as Classification,
  };
}
