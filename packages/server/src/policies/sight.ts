// The compiled rights of one reader: every operation that shows events asks it, and compares no classification by itself.
// Depending on the reader's clearance, the event's classification and the Access rules of the tenant, the reader sees all of an
// event, perhaps without single fields; its facts without context and payload; or nothing, not even that it exists.

import { type AuditEvent, type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { isAtLeast } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import {
  accessJudge,
  type AccessRules,
  accessRulesOf,
  leastAllowed,
  type WithheldField,
} from './access-rules.ts';
import { formatPath } from '../query/field-path.ts';
import type { EventFacts } from './event-facts.ts';
import { placesAt } from './withheld-fields.ts';

export interface Sight {
  readonly index: IndexSight;
  /** Exact, of one event. */
  readonly judge: (event: SeenEvent) => Visibility;
}

/**
 * The part of a sight that an index makes its plan of: it finds the facts of the classes `visible`, and the content of the
 * classes `whole`; rules may say otherwise for single events. Data alone, since it goes to threads.
 */
export interface IndexSight {
  readonly visible: readonly Classification[];
  readonly whole: readonly Classification[];
  /** Undefined: no rule concerns the reader. */
  readonly access?: AccessRules;
}

/** The facts that a reader's right to see an event may depend on. */
export interface SeenEvent {
  readonly kind: AuditEvent['kind'];
  readonly classification: Classification;
  /** Read for a rule that is about them. Undefined once the content is removed. */
  readonly facts: () => EventFacts | undefined;
}

export interface Visibility {
  readonly extent: 'Whole' | 'Withheld' | 'Invisible';
  /** Single fields that are withheld. */
  readonly withheldFields: readonly WithheldField[];
}

const WHOLE: Visibility = { extent: 'Whole', withheldFields: [] };
const WITHHELD: Visibility = { extent: 'Withheld', withheldFields: [] };
const INVISIBLE: Visibility = { extent: 'Invisible', withheldFields: [] };

/** Of readers whom no rule concerns, compiled once for each clearance. */
const SIGHTS = new Map(CLASSIFICATIONS.map((clearance) => [clearance, sightBy(indexSightOf(clearance))]));
const NOTHING = sightBy({ visible: [], whole: [] });

/** Of readers whom rules concern, compiled once for each record and caller. */
const ruled = new WeakMap<TenantRecord, WeakMap<Caller, Sight>>();

/** A reader of a tenant that was unknown when the call came sees nothing, although there may be events by now. */
export function sightOf({ caller, tenantRecord }: Pick<Call, 'caller' | 'tenantRecord'>): Sight {
  if (caller === undefined || tenantRecord === undefined) return NOTHING;
  if (tenantRecord.policies.length === 0) return SIGHTS.get(caller.clearance)!;
  let byCaller = ruled.get(tenantRecord);
  if (byCaller === undefined) ruled.set(tenantRecord, (byCaller = new WeakMap()));
  let sight = byCaller.get(caller);
  if (sight === undefined) byCaller.set(caller, (sight = sightUnder(tenantRecord, caller)));
  return sight;
}

/** Whether Access rules say event by event what the reader may see. */
export function isDecidedByRules(call: Pick<Call, 'caller' | 'tenantRecord'>): boolean {
  return (sightOf(call).index.access?.rules.length ?? 0) > 0;
}

/** Whether nothing at all is withheld from the reader: figures over all events of the tenant tell nothing new then. */
export function seesEverything(call: Pick<Call, 'caller' | 'tenantRecord'>): boolean {
  const { whole, access } = sightOf(call).index;
  return access === undefined && whole.length === CLASSIFICATIONS.length;
}

/** What a reader is cleared for where no rule says otherwise. */
export function ownClearance({ caller }: Pick<Call, 'caller'>): Classification {
  return caller!.clearance;
}

function sightUnder(tenant: TenantRecord, caller: Caller): Sight {
  const access = accessRulesOf(tenant, caller);
  const { clearance } = caller;
  if (access === undefined) return SIGHTS.get(clearance)!;
  if (access.rules.length === 0) return sightBy({ ...indexSightOf(clearance), access });
  // Rules may show events of any classification, so each event is judged.
  return sightBy({ visible: CLASSIFICATIONS, whole: CLASSIFICATIONS, access });
}

/** For an index, which has only this part of a sight. */
export function judgeBy({ visible, whole, access }: IndexSight, event: SeenEvent): Visibility {
  const { kind, classification } = event;
  // Notices are shown whole to everybody: a proof of a part would not hold.
  if (kind === 'Notice') return WHOLE;
  if (access !== undefined && visible.length > 0) return judgeByRules(access, event);
  if (whole.includes(classification)) return WHOLE;
  return visible.includes(classification) ? WITHHELD : INVISIBLE;
}

function judgeByRules(access: AccessRules, event: SeenEvent): Visibility {
  const { classification, facts } = event;
  const known = facts();
  // Nobody can tell any more what rules with conditions would have said of it: it is shown where all of them would have.
  const allowed = known === undefined ? leastAllowed(access, classification) : accessJudge(access)(known);
  const { isDenied, clearance, withheldFields } = allowed;
  if (isDenied || !isVisible(classification, clearance)) return INVISIBLE;
  const extent = isAtLeast(clearance, classification) ? 'Whole' : 'Withheld';
  return { extent, withheldFields };
}

function sightBy(index: IndexSight): Sight {
  return { index, judge: (event) => judgeBy(index, event) };
}

export function indexSightOf(clearance: Classification): IndexSight {
  return {
    visible: CLASSIFICATIONS.filter((each) => isVisible(each, clearance)),
    whole: CLASSIFICATIONS.filter((each) => isAtLeast(clearance, each)),
  };
}

/** Whether a reader with this clearance may know of it. */
function isVisible(classification: Classification, clearance: Classification): boolean {
  return classification !== 'Secret' || isAtLeast(clearance, 'Confidential');
}

/** Whether it is recorded in the log that somebody has seen it. */
export function isReadNoted({ classification }: Pick<AuditEvent, 'classification'>): boolean {
  return classification === 'Secret';
}

const OPEN: ReadonlySet<AuditEvent['classification']> = new Set(['Public', 'Internal']);

/**
 * Whether its content must not be guessed: beside texts that anybody can have recorded, as by a login that fails, the length of a
 * compressed answer would tell of it.
 */
export function isGuarded({ classification }: Pick<AuditEvent, 'classification'>): boolean {
  return !OPEN.has(classification);
}

/** Whether such events may be among those that the reader finds, in part at least; `among`: of these classes alone. */
export function mayShowGuarded(
  call: Pick<Call, 'caller' | 'tenantRecord'>,
  among: readonly Classification[] = CLASSIFICATIONS,
): boolean {
  return sightOf(call).index.visible.some(
    (classification) => among.includes(classification) && isGuarded({ classification }),
  );
}

/** Stands in place of a single redacted value. */
export const REDACTED = '[REDACTED]';

type Content = Pick<AuditEvent, 'context' | 'payload' | 'redaction'>;
type Shown = Content & Partial<Pick<AuditEvent, 'actor' | 'resource'>>;

/** The event as such a reader gets it, or as much of it as is given. */
export function contentSeen<E extends Shown>({ extent, withheldFields }: Visibility, event: E): E {
  const shown = extent === 'Whole' ? event : withContentWithheld(event);
  return withheldFields.length === 0 ? shown : withFieldsWithheld(shown, withheldFields);
}

/** Its own members are taken out first: those that it has would keep their place, and so tell that it has them. */
function withContentWithheld<E extends Shown>(event: E): E {
  const { context: _, payload: __, ...facts } = event;
  return { ...facts, ...withheldContent() } as unknown as E;
}

function withFieldsWithheld<E extends Shown>(event: E, fields: readonly WithheldField[]): E {
  const roots = new Set(fields.map(({ steps }) => steps[0] as keyof Shown));
  const there = [...roots].filter((root) => event[root] !== undefined);
  // One copy of what they are in, however many there are.
  const copies = structuredClone(Object.fromEntries(there.map((root) => [root, event[root]])));
  const found = new Set<string>();
  // What is withheld as a whole comes first: then nothing is found in it, and its keys are not named.
  for (const { steps } of fields.toSorted((a, b) => a.steps.length - b.steps.length))
    placesAt(copies, steps, [], (path, inside, key) => {
      // Content as a whole stays an object.
      inside[key] = path.length === 1 ? {} : REDACTED;
      found.add(formatPath(path));
    });
  if (found.size === 0) return event;
  const { fields: before = [], reason = 'AccessPolicy' } = event.redaction ?? {};
  // The order of the rules would tell which of them match, and they may be about what is withheld.
  const named = [...found].toSorted();
  return { ...event, ...copies, redaction: { fields: [...new Set([...before, ...named])], reason } };
}

/**
 * Stands in place of withheld content. It always has both members: whether there is a payload is withheld with it.
 */
export function withheldContent(): Required<Content> {
  return {
    context: {},
    payload: {},
    redaction: { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' },
  };
}
