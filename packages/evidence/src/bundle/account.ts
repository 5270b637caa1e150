// Takes account of what a bundle shows: entry by entry open, withheld, deleted or outside the filter, and what its
// notices say. Deleted and withheld are told apart unit by unit.

import { toBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { type Entry, isNotice, KINDS } from '../event/entry.ts';
import type { Notice } from '../event/notices.ts';
import { isWhollyOpen, withholdsMoreThan } from '../event/shown-event.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { decideFilter, type FilterCondition, parseFilter } from './bundle-filter.ts';
import type { BundleHeader, EntryLine } from './bundle-line.ts';
import { Deletions } from './deletions.ts';
import { readNoticeAndKeys } from './notice-keys.ts';
import type { PurgedSubtrees } from './purged-subtrees.ts';
import type { Trust } from './trust.ts';

export interface BundleAccount {
  entries: number;
  /** Entries shown whole. */
  open: number;
  /** Entries of which something is not shown and not said to be deleted: the reader had no right to it. */
  withheld: number;
  /** Entries of which something was deleted. One can be withheld too, in another part. */
  deleted: number;
  /** Entries that are shown only as far as it takes to see that they do not match. */
  outsideFilter: number;
  /** Indexes of the notices that explain the deletions. */
  explainedBy: number[];
  /** When the first and the last entry here were accepted, as the log says. */
  firstReceivedAtMs?: number;
  lastReceivedAtMs?: number;
}

export class Account {
  readonly #header: BundleHeader;
  readonly #mayWithhold: boolean;
  readonly #conditions: readonly FilterCondition[];
  readonly #deletions = new Deletions();
  readonly #purged: PurgedSubtrees;
  readonly #counts = { entries: 0, open: 0, withheld: 0, outsideFilter: 0 };
  readonly #received: Pick<BundleAccount, 'firstReceivedAtMs' | 'lastReceivedAtMs'> = {};

  constructor(header: BundleHeader, trust: Trust, purged: PurgedSubtrees) {
    this.#header = header;
    this.#purged = purged;
    this.#mayWithhold = trust.allowWithheld !== false;
    if (!this.#mayWithhold) requireAsked(header, trust.filter ?? null);
    this.#conditions = header.complete ? parseFilter(header.filter) : [];
  }

  get entries(): number {
    return this.#counts.entries;
  }

  entry({ shown, deleted }: EntryLine, entry: Entry): void {
    this.#counts.entries++;
    this.#received.firstReceivedAtMs ??= entry.receivedAtMs;
    this.#received.lastReceivedAtMs = entry.receivedAtMs;
    const notice = isNotice(entry.kind) ? readNoticeAndKeys(entry, shown) : undefined;
    if (entry.index === 0) this.#verifyBeginning(notice);
    if (notice !== undefined) this.notice(notice);
    if (deleted !== undefined) this.#deletions.deleted(entry, deleted);
    if (isWhollyOpen(shown)) this.#counts.open++;
    else if (deleted !== true) this.#notWhollyOpen(shown, deleted ?? [], entry.index);
  }

  notice(notice: Notice): void {
    this.#deletions.notice(notice);
    this.#purged.notice(notice);
  }

  /** The account, once all is taken; throws at a purge of another tree, and at the first deletion without a notice. */
  close(): BundleAccount {
    this.#purged.close();
    const explainedBy = this.#deletions.explain();
    return { ...this.#counts, deleted: this.#deletions.count, explainedBy, ...this.#received };
  }

  #notWhollyOpen(shown: EntryLine['shown'], deleted: readonly string[], index: number): void {
    const verdict = decideFilter(this.#conditions, { shown, deleted: new Set(deleted) }, index);
    if (!withholdsMoreThan(shown, deleted)) return;
    if (verdict === 'Fails') {
      this.#counts.outsideFilter++;
      return;
    }
    this.#counts.withheld++;
    if (this.#mayWithhold) return;
    throw new EvidenceError('GAP_UNEXPLAINED', `content of entry ${index} is withheld`, { index });
  }

  /** A log that goes on after a restore begins with a notice that names the checkpoint before, as the header does. */
  #verifyBeginning(notice: Notice | undefined): void {
    const { previousCheckpoint } = this.#header;
    const epoch = notice?.kind === KINDS.newEpoch ? notice.payload : undefined;
    const before = previousCheckpoint === undefined ? undefined : parseCheckpoint(previousCheckpoint);
    const agree =
      epoch?.previousOrigin === before?.origin &&
      epoch?.anchoredSize === before?.size &&
      epoch?.anchoredRoot === (before && toBase64(before.root));
    if (agree) return;
    const message = 'the first entry and the header do not name the same checkpoint before';
    throw new EvidenceError('NOTICE_INVALID', message, { index: 0 });
  }
}

/** A filter that nothing matches would withhold everything: a reader who may see everything says which filter they asked for. */
function requireAsked({ complete, filter }: BundleHeader, asked: unknown): void {
  if (complete && canonicalJson(filter) === canonicalJson(asked)) return;
  throw new EvidenceError('FILTER_UNPROVEN', 'the bundle has another filter than the one that was asked for');
}
