// Whether content that a notice says was purged can have been past its retention: of each version of a policy, and of the settings, it
// keeps which periods they give and where in the log they were in force. The content is gone, so it is not known which rule has
// decided, and the shortest period is compared. It keeps no texts, and all versions.

import type { Duration } from '@tallystick/contract';
import { settingsIn, USUAL_SETTINGS } from '../access/tenants.ts';
import type { StoredRecord } from '../records/records.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import { DECIDED_BEFORE_MS, readOrUnknown, SETTINGS } from './past-decisions.ts';
import { POLICY_KIND, policyIn } from './policy.ts';

/** Where something stands in the log. */
interface Place {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly receivedAtMs: number;
}

interface Version {
  /** Undefined: it is not known which. */
  readonly periods: readonly Duration[] | undefined;
  /** In force for entries behind it. */
  readonly index: number;
  /** It may have decided about what was received until then. */
  untilMs: number;
}

/** The changes of one tenant, in the order of its log. */
export class PastPeriods {
  readonly #settings: Version[] = [
    { periods: [USUAL_SETTINGS.defaultRetention], index: -1, untilMs: Infinity },
  ];
  /** By policy, from the first version on. */
  readonly #policies = new Map<string, Version[]>();

  /** A version of a record, as its notice commits to it. Undefined: it is not stored, or is not that. */
  changed(
    { kind, id }: { readonly kind: string; readonly id: string },
    version: StoredRecord | undefined,
    at: Place,
  ): void {
    if (kind === SETTINGS)
      replace(this.#settings, at, version && readOrUnknown(() => [settingsIn(version).defaultRetention]));
    if (kind !== POLICY_KIND) return;
    const versions = this.#policies.get(id) ?? [];
    replace(versions, at, version && readOrUnknown(() => periodsIn(version)));
    this.#policies.set(id, versions);
  }

  /** When the event at this place expires at the earliest, if this has decided; undefined: it is not known. */
  earliestEnd(
    { index, receivedAtMs }: Place,
    policy: { readonly policyId: string; readonly policyVersion: number } | undefined,
  ): number | undefined {
    const named =
      policy === undefined
        ? this.#settings
        : [this.#policies.get(policy.policyId)?.[policy.policyVersion - 1]].filter(
            (found) => found !== undefined,
          );
    const inForce = named.filter((each) => each.index < index && each.untilMs >= receivedAtMs);
    if (inForce.some(({ periods }) => periods === undefined)) return undefined;
    const ends = inForce.flatMap(({ periods }) =>
      periods!.map((period) => expiryAfter(receivedAtMs, period)),
    );
    return Math.min(...ends);
  }
}

function replace(versions: Version[], { index, receivedAtMs }: Place, periods: Version['periods']): void {
  const last = versions.at(-1);
  if (last !== undefined) last.untilMs = receivedAtMs + DECIDED_BEFORE_MS;
  versions.push({ periods, index, untilMs: Infinity });
}

/** None if it cannot decide how long an event is kept. */
function periodsIn(version: StoredRecord): Duration[] {
  const { policyType, status, rules } = policyIn(version);
  if (policyType !== 'Retention' || status !== 'Active') return [];
  const periods = rules.filter(({ enabled }) => enabled).map(({ effect }) => effect.retentionPeriod!);
  // Throws for one that is no duration.
  for (const period of periods) expiryAfter(0, period);
  return [...new Set(periods)];
}
