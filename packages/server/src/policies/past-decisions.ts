// Whether what is stored with an event about its decision follows from the settings and policies that were in force: both are
// records whose changes are in the log, so the decision is made again as it was when the event came. A change is in force for
// entries behind its notice. A request is decided upon before it gets its place, and other nodes may learn of a change later: so
// for some time after a notice, what it replaced may have decided, too.

import type { Classification, Duration } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { settingsIn, USUAL_SETTINGS } from '../access/tenants.ts';
import { instant } from '../runtime/clock.ts';
import { createExpiries, longestMs } from '../runtime/expiry.ts';
import type { RecordKind, StoredRecord } from '../records/records.ts';
import { type Condition, conditionsOf } from './condition.ts';
import { type DecidingSettings, type Decision, deciderOf, latestEnd, textOf } from './decide.ts';
import { type MatchedRule, readDecidedBy } from './decided-by.ts';
import type { EventFacts } from './event-facts.ts';
import { enabledRules, POLICY_KIND, policyIn, type PolicyRecord } from './policy.ts';

/** An event of the log whose texts lead to what was hashed, with the columns that no hash covers. */
export interface DecidedEvent {
  readonly receivedAtMs: number;
  readonly classification: Classification;
  readonly texts: readonly [Uint8Array, Uint8Array];
  /** Nothing of its texts is deleted. */
  readonly isWhole: boolean;
  readonly decidedBy: string | undefined;
  readonly expiresAtMs: number | undefined;
}

export type DecisionVerdict =
  | { readonly status: 'Follows' }
  /** A version that may have decided is not stored, or a part of the event that rules may have asked about. */
  | { readonly status: 'Unknown' }
  | { readonly status: 'Differs'; readonly why: string };

/** When the retention of an event is certainly over, or why nobody can say. */
export type RetentionEnd = { readonly atMs: number } | { readonly why: string };

/** How long after the notice of a change an event may still be received that was decided upon before it. */
export const DECIDED_BEFORE_MS = 300_000;
/** Of each: what was replaced within the time above is forgotten beyond that, and then it is not known what has decided. */
const VERSIONS_MAX = 500;
/** Of the texts of all that were changed. */
const VERSIONS_LENGTH_MAX = 16_000_000;
/** The record with the settings of a tenant. */
export const SETTINGS = 'Tenant';
const DAY_MS = 86_400_000;
/** The day of a decision is that of the request. Entries are never received before the one that they follow, so
 * after a clock was set back it lies before that of the entry. */
const DAYS_BEFORE_MAX = 400;

type Policies = readonly PolicyRecord[];

/** The changes of one tenant, and its events, in the order of its log. */
export class PastDecisions {
  readonly #settings = new InForce<Pick<DecidingSettings, 'defaultClassification' | 'defaultRetention'>>(
    USUAL_SETTINGS,
  );
  readonly #policies = new InForce<Policies>([]);
  /** No period of any version that was met is longer. */
  #longestMs = longestMs(USUAL_SETTINGS.defaultRetention);
  #isPolicyMissing = false;
  /** What is compiled for settings and policies stays compiled. */
  #tenants = new WeakMap<object, WeakMap<object, DecidingSettings>>();
  readonly #expiryAfter = createExpiries();

  /** Whether records of this kind decide about events. */
  isAbout(kind: string): kind is RecordKind {
    return kind === SETTINGS || kind === POLICY_KIND;
  }

  /** A version of a record of the tenant, as its notice commits to it. Undefined: it is not stored, or is not that. */
  changed(
    { kind, id }: { readonly kind: string; readonly id: string },
    version: StoredRecord | undefined,
    receivedAtMs: number,
  ): void {
    if (kind === SETTINGS) {
      const settings = version && readOrUnknown(() => settingsIn(version));
      if (settings !== undefined) this.#met(settings.defaultRetention);
      this.#settings.replace(settings, receivedAtMs);
    }
    if (kind !== POLICY_KIND) return;
    const policy = version && readOrUnknown(() => policyIn(version));
    if (policy === undefined) this.#isPolicyMissing = true;
    readOrUnknown(() => policy?.rules.forEach(({ effect }) => this.#met(effect.retentionPeriod)));
    const before = this.#policies.latest;
    // One that is unknown stays so: a later version may be of another type, but what the others say is not known either.
    const others = before?.filter(({ policyId }) => policyId !== id);
    if (policy === undefined || others === undefined) return this.#policies.replace(undefined, receivedAtMs);
    if (!isDeciding(policy) && others.length === before!.length) return;
    const all = isDeciding(policy) ? [...others, policy] : others;
    this.#policies.replace(
      all.toSorted((a, b) => (a.policyId < b.policyId ? -1 : 1)),
      receivedAtMs,
      version!.body.length,
    );
  }

  /**
   * Whether no rule has a condition that may have decided about what was received then or later. Then an event is judged by its entry
   * and its columns alone, and its texts may be left out.
   */
  asksNothing(sinceMs: number): boolean {
    // Of one that cannot be read it is not known what it asks.
    const asks = (policies: Policies) =>
      readOrUnknown(() =>
        (['Classification', 'Retention'] as const).some((type) =>
          enabledRules(policies, type).some((rule) => conditionsOf(rule).length > 0),
        ),
      ) ?? true;
    return (
      this.#settings.at(sinceMs).every((settings) => settings !== undefined) &&
      this.#policies.at(sinceMs).every((policies) => policies !== undefined && !asks(policies))
    );
  }

  judge(event: DecidedEvent): DecisionVerdict {
    const facts = new LoggedFacts(event);
    const newest = this.#tenantOf(this.#settings.latest, this.#policies.latest);
    if (newest !== undefined && this.#follows(event, facts, newest, dayOf(event.receivedAtMs)))
      return FOLLOWS;
    return this.#judgeSlowly(event);
  }

  /**
   * From when on its content may go, which is its expiry where that follows from what has decided. Where a rule may have asked about
   * something that is deleted, all such rules must have ended; where it is not known what has decided, everything that may have.
   */
  endOf(event: DecidedEvent): RetentionEnd {
    const verdict = this.judge(event);
    if (verdict.status === 'Differs') return verdict;
    const { expiresAtMs = Infinity, isWhole } = event;
    if (verdict.status === 'Follows' && isWhole) return { atMs: expiresAtMs };
    const ends: { readonly atMs: number; readonly isNamed: boolean }[] = [];
    for (const tenant of this.#tenantsAt(event.receivedAtMs)) {
      // Every version of a policy is kept, so one that is missing was taken away; of settings there was a time when none was.
      if (tenant === undefined && this.#isPolicyMissing) return { why: MISSING };
      ends.push(
        tenant === undefined
          ? { atMs: event.receivedAtMs + this.#longestMs, isNamed: false }
          : { atMs: this.#latestEnd(event, tenant), isNamed: this.#isOneOf(event, tenant) },
      );
    }
    // As a whole event is believed that any of them has decided about it, so is a punctured one, if its row says so of one.
    const named = ends.filter(({ isNamed }) => isNamed);
    const atMs = Math.max(expiresAtMs, ...(named.length > 0 ? named : ends).map((end) => end.atMs));
    return { atMs };
  }

  #latestEnd(event: DecidedEvent, tenant: DecidingSettings): number {
    const facts = new LoggedFacts(event).withHint(event.classification);
    // Of a correlation id it is not known whether it was sent, or came later.
    const canJudge = ({ path: [root] }: Condition) =>
      root !== 'correlationId' && (event.isWhole || !DELETABLE.has(root));
    return readOrUnknown(() => latestEnd(tenant, facts, event.receivedAtMs, canJudge)) ?? Infinity;
  }

  #met(period: Duration | undefined): void {
    const ms = period === undefined ? 0 : (readOrUnknown(() => longestMs(period)) ?? 0);
    this.#longestMs = Math.max(this.#longestMs, ms);
  }

  /** By all that may have decided. */
  #judgeSlowly(event: DecidedEvent): DecisionVerdict {
    const tenants = this.#tenantsAt(event.receivedAtMs);
    const known = tenants.filter((tenant) => tenant !== undefined);
    for (const hasCorrelationId of [true, false]) {
      const facts = new LoggedFacts(event, hasCorrelationId);
      for (const tenant of known) if (this.#followsOnSomeDay(event, facts, tenant)) return FOLLOWS;
    }
    if (known.length < tenants.length) return UNKNOWN;
    if (!event.isWhole && known.some((tenant) => this.#isOneOf(event, tenant))) return UNKNOWN;
    return { status: 'Differs', why: this.#why(event, known) };
  }

  /** On the day when it was received, or on one before, where the rules are the same and another one of them keeps it longest. */
  #followsOnSomeDay(event: DecidedEvent, facts: LoggedFacts, tenant: DecidingSettings): boolean {
    const day = dayOf(event.receivedAtMs);
    if (this.#follows(event, facts, tenant, day)) return true;
    const made = readOrUnknown(() => deciderOf(tenant)(facts, day));
    if (made === undefined || withoutWinners(made.decidedBy) !== withoutWinners(event.decidedBy))
      return false;
    for (let before = 1; before <= DAYS_BEFORE_MAX; before++)
      if (this.#follows(event, facts, tenant, day - before * DAY_MS)) return true;
    return false;
  }

  #follows(event: DecidedEvent, facts: LoggedFacts, tenant: DecidingSettings, day: number): boolean {
    const made = readOrUnknown(() => decisionOn(event, facts, tenant, day));
    return made !== undefined && this.#expiryOf(event, made) === event.expiresAtMs;
  }

  /** Whether its expiry is that of a rule that has decided as its row says, whatever that rule asked about. */
  #isOneOf({ receivedAtMs, decidedBy, expiresAtMs }: DecidedEvent, tenant: DecidingSettings): boolean {
    const deciding = readDecidedBy(decidedBy).retention.filter(({ decided }) => decided);
    const periods = deciding.map((rule) => periodOf(rule, tenant));
    if (periods.length === 0) periods.push(tenant.defaultRetention);
    return (
      !periods.includes(undefined) &&
      periods.some((period) => this.#expiryAfter(receivedAtMs, period!) === expiresAtMs)
    );
  }

  #expiryOf({ receivedAtMs }: DecidedEvent, { retention }: Decision): number {
    return this.#expiryAfter(receivedAtMs, retention);
  }

  #why(event: DecidedEvent, tenants: readonly DecidingSettings[]): string {
    const { expiresAtMs } = event;
    const said = expiresAtMs === undefined ? 'never expires' : `expires at ${shown(expiresAtMs)}`;
    for (const tenant of tenants) {
      const made = readOrUnknown(() =>
        decisionOn(event, new LoggedFacts(event), tenant, dayOf(event.receivedAtMs)),
      );
      if (made === undefined) continue;
      const { decidedBy: by } = made;
      const what = by === undefined ? 'by the settings of the tenant' : 'by what has decided about it';
      return `${said}; ${what} it expires at ${shown(this.#expiryOf(event, made))}`;
    }
    return 'was not decided as its row says by the settings and policies that were in force';
  }

  /** All that may have decided about what is received then, the newest first; undefined: it is not known. */
  #tenantsAt(receivedAtMs: number): (DecidingSettings | undefined)[] {
    const policies = this.#policies.at(receivedAtMs);
    return this.#settings
      .at(receivedAtMs)
      .flatMap((settings) => policies.map((each) => this.#tenantOf(settings, each)));
  }

  #tenantOf(
    settings: Pick<DecidingSettings, 'defaultClassification' | 'defaultRetention'> | undefined,
    policies: Policies | undefined,
  ): DecidingSettings | undefined {
    if (settings === undefined || policies === undefined) return undefined;
    let bySettings = this.#tenants.get(policies);
    if (bySettings === undefined) this.#tenants.set(policies, (bySettings = new WeakMap()));
    let tenant = bySettings.get(settings);
    if (tenant === undefined) bySettings.set(settings, (tenant = { ...settings, policies }));
    return tenant;
  }
}

const FOLLOWS: DecisionVerdict = { status: 'Follows' };
const UNKNOWN: DecisionVerdict = { status: 'Unknown' };
const MISSING = 'a version of a policy that may have decided about it is missing';
/** Below these, single units of an event may be deleted. */
const DELETABLE: ReadonlySet<string> = new Set(['actor', 'context', 'payload']);

function periodOf(
  { policyId, policyVersion, ruleId }: MatchedRule,
  { policies }: DecidingSettings,
): Duration | undefined {
  const policy = policies.find((each) => each.policyId === policyId && each.version === policyVersion);
  return policy?.rules.find((rule) => rule.ruleId === ruleId)?.effect.retentionPeriod;
}

function isDeciding({ status, policyType }: PolicyRecord): boolean {
  return status === 'Active' && (policyType === 'Classification' || policyType === 'Retention');
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

function withoutWinners(decidedBy: string | undefined): string | undefined {
  return withoutUnnamed(decidedBy)?.replaceAll(/"decided":(?:true|false)/g, '');
}

/** As it was written before policies were listed of which no rule is named. */
function withoutUnnamed(decidedBy: string | undefined): string | undefined {
  return decidedBy?.replace(/^\{"also":\[[^\]]*\],/, '{');
}

/** The decision, if its text and its classification are those of the event. */
function decisionOn(
  event: DecidedEvent,
  facts: LoggedFacts,
  tenant: DecidingSettings,
  day: number,
): Decision | undefined {
  const { classification, decidedBy } = event;
  const decide = deciderOf(tenant);
  const made = decide(facts, day);
  const isSame = decidedBy === made.decidedBy || decidedBy === withoutUnnamed(made.decidedBy);
  if (isSame && made.classification === classification) return made;
  // Before there were policies nothing was stored about a hint that has raised the classification.
  if (decidedBy !== undefined || tenant.policies.length > 0) return undefined;
  const hinted = decide(facts.withHint(classification), day);
  const isByHint = hinted.decidedBy === textOf({ classification: [], retention: [], hint: classification });
  return isByHint && hinted.classification === classification ? hinted : undefined;
}

/** The versions of one thing that may still have decided. */
class InForce<T extends object> {
  /** The newest last. */
  #versions: { readonly value: T | undefined; readonly length: number; untilMs: number }[];

  constructor(first: T) {
    this.#versions = [{ value: first, length: 0, untilMs: Infinity }];
  }

  get latest(): T | undefined {
    return this.#versions.at(-1)!.value;
  }

  /** `length` is that of the text which the change has brought. */
  replace(value: T | undefined, receivedAtMs: number, length = 0): void {
    this.#versions.at(-1)!.untilMs = receivedAtMs + DECIDED_BEFORE_MS;
    this.#versions = this.#versions.filter(({ untilMs }) => untilMs >= receivedAtMs);
    this.#versions.push({ value, length, untilMs: Infinity });
    while (this.#versions.length > 2 && this.#isTooMuch()) {
      const [, forgotten] = this.#versions.splice(0, 2);
      this.#versions.unshift({ value: undefined, length: 0, untilMs: forgotten!.untilMs });
    }
  }

  #isTooMuch(): boolean {
    const length = this.#versions.reduce((sum, version) => sum + version.length, 0);
    return this.#versions.length > VERSIONS_MAX || length > VERSIONS_LENGTH_MAX;
  }

  /** The newest first. */
  at(receivedAtMs: number): (T | undefined)[] {
    return this.#versions
      .filter(({ untilMs }) => untilMs >= receivedAtMs)
      .map(({ value }) => value)
      .toReversed();
  }
}

type LoggedMembers = Pick<EventFacts, 'action' | 'actor' | 'resource' | 'outcome' | 'correlationId'>;

/** Its facts when it was sent: the hint is in what is stored about the decision, and the rest in its texts. */
class LoggedFacts {
  readonly #event: DecidedEvent;
  readonly #hasCorrelationId: boolean;
  /** The hint. */
  readonly classification: Classification | undefined;
  #members: LoggedMembers | undefined;
  #content: ReturnType<EventFacts['content']> | undefined;

  /** Without a correlation id it got one only after it was decided upon. */
  constructor(event: DecidedEvent, hasCorrelationId = true, hint = readDecidedBy(event.decidedBy).hint) {
    this.#event = event;
    this.#hasCorrelationId = hasCorrelationId;
    this.classification = hint;
  }

  withHint(hint: Classification): LoggedFacts {
    return new LoggedFacts(this.#event, this.#hasCorrelationId, hint);
  }

  get action() {
    return this.#read().action;
  }

  get actor() {
    return this.#read().actor;
  }

  get resource() {
    return this.#read().resource;
  }

  get outcome() {
    return this.#read().outcome;
  }

  get correlationId() {
    return this.#hasCorrelationId ? this.#read().correlationId : undefined;
  }

  content() {
    return (this.#content ??= parseText(this.#event.texts[1]) as ReturnType<EventFacts['content']>);
  }

  #read(): LoggedMembers {
    return (this.#members ??= parseText(this.#event.texts[0]) as LoggedMembers);
  }
}

function parseText(text: Uint8Array): unknown {
  return parseJson(Buffer.from(text.buffer, text.byteOffset, text.length).toString());
}

/** Who can write to the database may have had anything signed; such a version, or event, was none of the service's. */
export function readOrUnknown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function shown(atMs: number): string {
  return Number.isSafeInteger(atMs) && Math.abs(atMs) <= 8.64e15 ? instant(atMs) : String(atMs);
}
