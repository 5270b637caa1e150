// The lines of the bundle beside exported events: each event as far as its reader sees it, what is withheld by its commitments alone.
// Of a whole log every entry has a line, one that is not shown its two roots; of anything else each exported event has one, with a
// proof of its own.

import {
  contentOf,
  decodeEntry,
  type Entry,
  type EntryLine,
  equalBytes,
  formatEntryLine,
  isNotice,
  type ShownEvent,
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import { shownTo } from '../events/prove.ts';
import { storedFacts } from '../events/facts.ts';
import { CONTENT_GONE, readFacts } from '../events/show.ts';
import { judgeBy } from '../policies/sight.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { LogTree, OpenContent, StoredEvidence, TreesWith } from '../streams/tree.ts';
import type { AlteredEvent, ShapingPlan } from './shaping.ts';

/** A log, and the checkpoint of it under which events are proven: it stays the same if the export goes on after a crash. */
export interface ProvenUnder {
  readonly origin: string;
  /** Of its first entry, in the tenant's sequence. Events of earlier logs, before a restore, are not proven. */
  readonly firstIndex: number;
  readonly size: number;
  readonly note: string;
}

/** Data alone, since it goes to the thread. */
export interface EvidencePlan {
  readonly under: Pick<ProvenUnder, 'firstIndex' | 'size'>;
  /** Leaf indexes of the log, the second one outside. */
  readonly from: number;
  readonly to: number;
  /** Every entry of the range has a line, and none a proof of its own. */
  readonly isComplete: boolean;
}

export type EvidenceTrees = TreesWith<'evidenceRange' | 'tree'>;

export interface Lines {
  readonly text: string;
  readonly events: number;
  readonly altered: readonly AlteredEvent[];
  readonly purged: number | undefined;
}

type Reader = Pick<ShapingPlan, 'tenant' | 'sight' | 'endIndex'>;

export class EvidenceLines {
  readonly #trees: EvidenceTrees;

  constructor(trees: EvidenceTrees) {
    this.#trees = trees;
  }

  /** Events in the order of the log. */
  async linesOf(plan: EvidencePlan, reader: Reader, events: readonly StoredEvent[]): Promise<Lines> {
    const { under, from, to, isComplete } = plan;
    const within = events.filter(({ index }) => {
      const leaf = index - under.firstIndex;
      return leaf >= from && leaf < to;
    });
    const trees = this.#trees.forTenant(reader.tenant);
    const tree = isComplete || within.length === 0 ? undefined : await trees.tree(under.firstIndex);
    const altered: AlteredEvent[] = [];
    let [text, count] = ['', 0];
    let purged: number | undefined;
    for (const run of runsIn(within)) {
      const rows = await trees.evidenceRange(run.from, run.end, run.end - run.from);
      if (rows.length !== run.end - run.from) throw new Error(`entries from ${run.from} on are not there`);
      for (const row of rows) {
        const made = lineOf(row, reader, isComplete);
        if ('fault' in made) altered.push({ ...made, index: row.index });
        else if ('purged' in made) purged ??= made.purged;
        else {
          const proven =
            tree === undefined ? made : { ...made, inclusion: await proofIn(tree, row, under.size) };
          text += `${formatEntryLine(proven)}\n`;
          count += 1;
        }
      }
    }
    return { text, events: count, altered, purged };
  }
}

function proofIn(tree: LogTree, { index }: StoredEvidence, size: number): Promise<Uint8Array[]> {
  return tree.inclusion(index - tree.firstIndex, size);
}

interface Run {
  readonly from: number;
  end: number;
}

/** Events that follow one another are read at once. */
function runsIn(events: readonly StoredEvent[]): Run[] {
  const runs: Run[] = [];
  for (const { index } of events) {
    const last = runs.at(-1);
    if (last?.end === index) last.end += 1;
    else runs.push({ from: index, end: index + 1 });
  }
  return runs;
}

type Made = EntryLine | { readonly purged: number } | Omit<AlteredEvent, 'index'>;

function lineOf(row: StoredEvidence, { sight, endIndex }: Reader, saysDeleted: boolean): Made {
  const { entry, roots, content, classification, index } = row;
  const decoded = decodeEntry(entry);
  const altered = (fault: string): Made => ({ eventId: decoded.eventId, fault });
  const hidden: ShownEvent = [{ root: roots[0] }, { root: roots[1] }];
  if (content === undefined) return altered(CONTENT_GONE);
  if ('purgedAtMs' in content) {
    if (content.noticeIndex >= endIndex) return { purged: index };
    return { entry, shown: hidden, ...(saysDeleted && { deleted: true }) };
  }
  // What was deleted behind the snapshot stands in the data, or not, by the moment when it was read.
  if (content.deleted?.flat().some(({ noticeIndex = 0 }) => noticeIndex >= endIndex))
    return { purged: index };
  const facts = readFacts(content.texts, classification);
  if ('fault' in facts) return altered(facts.fault);
  const judged = storedFacts(facts, content.texts[1]);
  const kind = isNotice(decoded.kind) ? 'Notice' : 'Event';
  const visibility = judgeBy(sight, { kind, classification, facts: () => judged });
  const shown = visibility.extent === 'Invisible' ? hidden : shownTo(visibility, row, judged);
  if (!isOf(decoded, shown)) return altered('it does not give the content hash of its entry');
  const deleted = saysDeleted ? deletedTags(shown, content) : [];
  return { entry, shown, ...(deleted.length > 0 && { deleted }) };
}

function isOf(entry: Entry, shown: ShownEvent): boolean {
  return equalBytes(contentOf(shown), entry.content);
}

/** Those of the closed units that a notice before the end of the export has deleted, in their order. */
function deletedTags(shown: ShownEvent, { deleted = [[], []] }: OpenContent): string[] {
  const gone = new Set(deleted.flat().map(({ path }) => toBase64(tagOf(path).bytes)));
  if (gone.size === 0) return [];
  return shown.flatMap((group) => {
    if (!('units' in group)) return [];
    const closed = group.units.filter((unit) => !('value' in unit));
    return closed.map(({ tag }) => toBase64(tag.bytes)).filter((tag) => gone.has(tag));
  });
}
