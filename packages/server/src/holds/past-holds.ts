// Which holds, and which rules of policies with `legalHold`, were in force at a place of a tenant's log. The notice of a removal is
// refused unless its author has seen the newest change of them, so what was removed behind the notice of a hold that covers it was
// removed past the service, or while somebody had taken the hold out of the database. Nobody knows what a version says that is not
// stored any more, and of an event without its content nobody knows whether conditions matched.

import type { Classification } from '@tallystick/contract';
import type { RecordKind, StoredRecord } from '../records/records.ts';
import type { IndexSpan } from '../streams/removal/removal.ts';
import { storedFacts } from '../events/facts.ts';
import { fieldOf } from '../events/redacted-at-rest.ts';
import { readFacts } from '../events/show.ts';
import { POLICY_KIND, policyIn, type PolicyRecord } from '../policies/policy.ts';
import { HOLD_KIND, holdIn, type HoldRecord } from './hold.ts';
import { judgeOf, type Keeper, keepersOf } from './hold-judge.ts';

/** An event of which something was removed, as far as it is still there. */
export interface LeftEvent {
  readonly index: number;
  readonly classification: Classification;
  readonly texts: readonly [Uint8Array, Uint8Array];
  /** The paths (RFC 6901) of its units that are gone. */
  readonly deletedPaths: readonly string[];
}

/** The changes of one tenant, in the order of its log. */
export class PastHolds {
  readonly #holds = new Map<string, HoldRecord>();
  readonly #policies = new Map<string, PolicyRecord>();
  #keepers: readonly Keeper[] | undefined;

  isAbout(kind: string): kind is RecordKind {
    return kind === HOLD_KIND || kind === POLICY_KIND;
  }

  /** A version of a record, as its notice commits to it. Undefined: it is not stored, or is not that. */
  changed(
    { kind, id }: { readonly kind: string; readonly id: string },
    version: StoredRecord | undefined,
  ): void {
    this.#keepers = undefined;
    const [hold, policy] = orNone(() =>
      kind === HOLD_KIND
        ? [version && holdIn(version), undefined]
        : [undefined, version && policyIn(version)],
    );
    put(this.#holds, id, hold?.status === 'Active' ? hold : undefined);
    put(this.#policies, id, policy?.status === 'Active' ? policy : undefined);
  }

  /** The parts of a span of the tenant's sequence that were held whatever is there, each with the id of the hold or policy. */
  heldIn({ firstIndex, endIndex }: IndexSpan): readonly (IndexSpan & { readonly id: string })[] {
    return this.#inForce()
      .filter(({ conditions }) => conditions.length === 0)
      .map(({ id, range = { fromSequence: 1, toSequence: endIndex } }) => ({
        id,
        firstIndex: Math.max(firstIndex, range.fromSequence - 1),
        endIndex: Math.min(endIndex, range.toSequence),
      }))
      .filter((span) => span.firstIndex < span.endIndex);
  }

  /** The ids of what held an event, by conditions about nothing that is gone. */
  holding({ index, classification, texts, deletedPaths }: LeftEvent): readonly string[] {
    const [first, second] = texts.map((text) => Buffer.from(text).toString()) as [string, string];
    const facts = readFacts([first, second], classification);
    if ('fault' in facts) return [];
    const redaction = { fields: deletedPaths.map(fieldOf), reason: 'RedactedAtRest' } as const;
    return judgeOf(this.#inForce()).holdingSeen(index + 1, storedFacts(facts, second), redaction);
  }

  #inForce(): readonly Keeper[] {
    return (this.#keepers ??= keepersOf([...this.#holds.values()], [...this.#policies.values()]));
  }
}

function put<R>(records: Map<string, R>, id: string, record: R | undefined): void {
  if (record === undefined) records.delete(id);
  else records.set(id, record);
}

/** Who can write to the database may have had anything signed; such a version was none of the service's. */
function orNone<A, B>(read: () => readonly [A, B]): readonly [A | undefined, B | undefined] {
  try {
    return read();
  } catch {
    return [undefined, undefined];
  }
}
