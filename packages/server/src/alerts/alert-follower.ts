// The follower that asks the rules of Alert policies about every new event. What they raise is stored with the position in the log,
// so an event raises each alert once, also across restarts and nodes. Logs without such a policy are not read.

import type { TenantId } from '@tallystick/contract';
import { EvidenceError, isNotice } from '@tallystick/evidence';
import type { Tenants } from '../access/tenants.ts';
import { readFacts } from '../events/show.ts';
import { storedFacts } from '../events/facts.ts';
import { entryOf } from '../followers/entry-of.ts';
import type { FollowStep, FollowStore, LogBehind } from '../followers/follow-store.ts';
import type { FollowerWork, SetAside } from '../followers/follower-work.ts';
import { logTurns, nextPortion } from '../followers/log-turns.ts';
import { POLICY_KIND } from '../policies/policy.ts';
import type { RecordReader } from '../records/records.ts';
import type { Clock } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { type AlertPolicies, type AlertPoliciesParts, readAlertPolicies } from './alert-policies.ts';
import { forgetIfGone } from './gone-values.ts';
import { type AlertMatch, raiseAlerts, windowKeysOf } from './raise-alerts.ts';
import type { NewJob } from '../work/jobs.ts';
import type { SealedValues } from './sealed-values.ts';
import type { NewViolation, ViolationStore } from './violations.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

export interface AlertParts extends AlertPoliciesParts {
  readonly follows: FollowStore;
  readonly violations: ViolationStore;
  readonly values: Pick<SealedValues, 'seal'>;
  readonly records: Pick<RecordReader, 'version'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicNs'>;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'error'>;
  /** The jobs that tell of what was raised, stored in the same commit. */
  readonly notify: (
    tenant: TenantId,
    violations: readonly NewViolation[],
    events: readonly StoredEvent[],
  ) => Promise<readonly NewJob[]>;
}

/** Stored in one commit: after so many, the rest of a portion is left to the next turn. */
const MATCHES_MAX = 2000;
const TENANTS_KEPT_MAX = 1000;
/** A log without a tenant is none that anybody has. */
const NO_KEY = new Uint8Array(0);

export class AlertFollower implements FollowerWork {
  readonly turn: FollowerWork['turn'];
  readonly #parts: AlertParts;
  /** Of the state `#version` of all records. */
  #policies = new Map<TenantId, AlertPolicies>();
  #version: unknown;
  /** The events of this turn that have crossed a threshold, whose values their violations hold. */
  readonly #counted = new Map<TenantId, readonly string[]>();

  constructor(parts: AlertParts) {
    this.#parts = parts;
    const turn = logTurns({
      name: 'Alerts',
      from: 'Beginning',
      having: POLICY_KIND,
      follows: parts.follows,
      stepsOf: (behind, setAside) => this.#stepsOf(behind, setAside),
    });
    this.turn = async () => {
      this.#counted.clear();
      const taken = await turn();
      // Between the reading of an event and the commit of what it has raised, its values may have been removed.
      for (const [tenant, eventIds] of this.#counted) await forgetIfGone(tenant, eventIds, parts);
      return taken;
    };
  }

  /** Called after `behind`: records that are read from here on include every change whose notice is in those entries. */
  async #lookForChanges(): Promise<void> {
    const version = await this.#parts.records.version();
    if (version !== this.#version || this.#policies.size > TENANTS_KEPT_MAX) this.#policies = new Map();
    this.#version = version;
  }

  /** A log that cannot be read holds up no other; where none can, the next turn waits. */
  async #stepsOf(behind: readonly LogBehind[], setAside: SetAside[]): Promise<FollowStep[]> {
    await this.#lookForChanges();
    const steps: FollowStep[] = [];
    let failure: unknown;
    for (const log of behind) {
      try {
        steps.push(await this.#stepOf(log, setAside));
      } catch (error) {
        failure = error;
        this.#parts.telemetry.error('alerts of a tenant are not raised', error, { tenant: log.tenant });
      }
    }
    if (steps.length === 0) throw failure;
    return steps;
  }

  async #stepOf(log: LogBehind, setAside: SetAside[]): Promise<FollowStep> {
    const { tenant, nextIndex, endIndex } = log;
    const policies = await this.#policiesOf(log);
    const first = policies.firstIndex(nextIndex) ?? endIndex;
    if (first > nextIndex) return { tenant, nextIndex, endIndex: Math.min(first, endIndex) };
    const { violations, values, nextId, clock } = this.#parts;
    const events = await nextPortion(this.#parts.log, log);
    const matches: AlertMatch[] = [];
    const taken: StoredEvent[] = [];
    const pause = pausesBy(clock);
    const key = (await this.#parts.tenants.find(tenant))?.fingerprintKey ?? NO_KEY;
    for (const event of events) {
      for (const match of matchesOf(tenant, event, policies, setAside)) matches.push(keyed(match, key));
      taken.push(event);
      if (matches.length >= MATCHES_MAX) break;
      await pause();
    }
    const step = { tenant, nextIndex, endIndex: nextIndex + taken.length };
    if (matches.length === 0) return step;
    const keys = windowKeysOf(matches);
    const windows = keys.length === 0 ? [] : await violations.forTenant(tenant).windows(keys);
    // Something matched, so one of them can be read.
    const untilMs = taken.map(entryOf).findLast((entry) => 'receivedAtMs' in entry)!.receivedAtMs;
    const raised = raiseAlerts(matches, windows, untilMs, { nextId, nowMs: clock.now() });
    const alerts = { ...raised, violations: await values.seal(tenant, raised.violations) };
    const holding = alerts.violations.filter(({ groupKey }) => groupKey !== undefined);
    if (holding.length > 0)
      this.#counted.set(
        tenant,
        holding.map(({ eventId }) => eventId),
      );
    return { ...step, alerts, jobs: await this.#parts.notify(tenant, alerts.violations, taken) };
  }

  async #policiesOf({ tenant, nextIndex }: LogBehind): Promise<AlertPolicies> {
    const known = this.#policies.get(tenant);
    if (known !== undefined) return known;
    const policies = await readAlertPolicies(tenant, nextIndex, this.#parts);
    this.#policies.set(tenant, policies);
    return policies;
  }
}

/** Values are few, and often names: a hash without a key of the tenant could be guessed by trying them. */
function keyed(match: AlertMatch, key: Uint8Array): AlertMatch {
  const { group } = match;
  if (group === undefined || group.groupKey === '') return match;
  const hmac = hmacSha256(key, `group\n${group.groupKey}`).toString('hex');
  return { ...match, group: { ...group, groupKey: hmac.slice(0, group.groupKey.length) } };
}

/** An event without readable content matches nothing: it is purged, or verification reports it. */
function matchesOf(
  tenant: TenantId,
  stored: StoredEvent,
  policies: AlertPolicies,
  setAside: SetAside[],
): AlertMatch[] {
  const { index, content, classification } = stored;
  const unread = (reason: string) => {
    setAside.push({ tenantId: tenant, sequence: index + 1, reason });
    return [];
  };
  const entry = entryOf(stored);
  if ('fault' in entry) return unread(entry.fault);
  if (isNotice(entry.kind) || content === undefined || !('texts' in content)) return [];
  const { eventId, receivedAtMs } = entry;
  const read = readFacts(content.texts, classification);
  if ('fault' in read) return unread(read.fault);
  try {
    const facts = storedFacts(read, content.texts[1]);
    return policies.matching(index, facts).flatMap((rule): AlertMatch[] => {
      const group = rule.threshold && rule.groupOf(facts);
      if (rule.threshold !== undefined && group === undefined) return [];
      return [{ rule, eventId, receivedAtMs, classification, fields: rule.fieldsIn(facts), group }];
    });
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    return unread(error.message);
  }
}
