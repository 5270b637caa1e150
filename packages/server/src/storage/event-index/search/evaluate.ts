// What a plan finds in one segment: the docs that are found for sure, and those that may be, which are all of these and
// perhaps more. Only what lies between the two must be looked at.

import type { IndexSpan } from '../../../streams/removal/removal.ts';
import { DocSet, DocSetBuilder } from '../segments/doc-set.ts';
import { findPhrase } from './phrase.ts';
import { eventIdAt, PieceOrder } from './positions.ts';
import { hasPhrase, type NumberPlan, type Plan, type RunPlan, type TimePlan } from './plan.ts';
import type { Awaitable, Searched } from '../segments/searched.ts';
import { COLUMN_DOCS } from '../segments/segment-format.ts';
import { isWholeKey, placeOf, type Section, spellingOf, traitsTerm } from '../segments/terms.ts';
import { compareMoments } from '../segments/times.ts';

export interface Finding {
  readonly sure: DocSet;
  /** The same set where nothing must be looked at. */
  readonly possible: DocSet;
}

/** Where a plan is evaluated. */
interface Within {
  readonly segment: Searched;
  /** Throws when the time for the search is over. */
  readonly check: () => void;
  /** Of other docs it does not matter whether they are found. */
  readonly among: DocSet;
  /** Findings among all docs. Access plans are parts of the plan of every term. */
  readonly known: { readonly among: DocSet; readonly findings: Map<Plan, Promise<Finding>> };
}

export function evaluate(plan: Plan, segment: Searched, check: () => void): Promise<Finding> {
  const among = DocSet.all(segment.docs);
  return findingOf(plan, { segment, check, among, known: { among, findings: new Map() } });
}

function findingOf(plan: Plan, within: Within): Promise<Finding> {
  const { among, known } = within;
  if (among !== known.among || !('plans' in plan || 'plan' in plan)) return found(plan, within);
  let finding = known.findings.get(plan);
  if (finding === undefined) known.findings.set(plan, (finding = found(plan, within)));
  return finding;
}

async function found(plan: Plan, within: Within): Promise<Finding> {
  const { segment, check, among } = within;
  check();
  switch (plan.of) {
    case 'All':
      return exactly(DocSet.all(segment.docs));
    case 'None':
      return exactly(DocSet.none(segment.docs));
    case 'And':
      return intersection(plan.plans, within);
    case 'Or':
      return combined(await findingsOf(plan.plans, within), (a, b) => a.or(b));
    case 'Not': {
      const { sure, possible } = await findingOf(plan.plan, within);
      return sure === possible ? exactly(sure.not()) : { sure: possible.not(), possible: sure.not() };
    }
    case 'Between': {
      const found = await findingsOf([plan.sure, plan.possible], within);
      const sure = found[0]!.sure.and(among);
      const possible = found[1]!.possible.and(among);
      return sure.count === possible.count ? exactly(possible) : { sure, possible };
    }
    case 'Term':
      return exactly(
        await inSections(plan.sections, segment, (section) => docsWith(segment, section, plan.term)),
      );
    case 'Run':
      return exactly(
        await inSections(plan.sections, segment, async (section) => docsInRun(within, section, plan)),
      );
    case 'Phrase':
      return combined(
        await Promise.all(plan.sections.map((section) => findPhrase(segment, section, plan, among, check))),
        (a, b) => a.or(b),
      );
    case 'Number':
      return docsWithNumber(within, plan);
    case 'Time':
      return exactly(await docsInTime(segment, plan));
    case 'Traits':
      return exactly(await docsWithTraits(segment, plan.numbers));
    case 'Within':
      return exactly(docsWithin(segment, plan.spans));
    case 'EventId':
      return exactly(await docsWithEventId(segment, plan.first, plan.last));
  }
}

function exactly(docs: DocSet): Finding {
  return { sure: docs, possible: docs };
}

function findingsOf(plans: readonly Plan[], within: Within): Promise<Finding[]> {
  return Promise.all(plans.map((plan) => findingOf(plan, within)));
}

/** Phrases are looked for last, and only where all else is found: they take the longest. */
async function intersection(plans: readonly Plan[], within: Within): Promise<Finding> {
  const both = (a: DocSet, b: DocSet) => a.and(b);
  const { true: phrases = [], false: others = [] } = Object.groupBy(plans, (plan) => `${hasPhrase(plan)}`);
  if (others.length === 0) return combined(await findingsOf(phrases, within), both);
  const found = combined(await findingsOf(others, within), both);
  const among = within.among.and(found.possible);
  if (phrases.length === 0 || among.count === 0) return found;
  return combined([found, ...(await findingsOf(phrases, { ...within, among }))], both);
}

function combined(findings: readonly Finding[], combine: (a: DocSet, b: DocSet) => DocSet): Finding {
  // From the smallest: then the fewest docs are gone through.
  const ordered = findings.toSorted((a, b) => a.possible.count - b.possible.count);
  return ordered.reduce((a, b) => {
    const possible = combine(a.possible, b.possible);
    const isExact = a.sure === a.possible && b.sure === b.possible;
    return isExact ? exactly(possible) : { sure: combine(a.sure, b.sure), possible };
  });
}

async function inSections(
  sections: readonly Section[],
  segment: Searched,
  find: (section: Section) => Promise<DocSet>,
): Promise<DocSet> {
  const found = await Promise.all(sections.map(find));
  return found.reduce((a, b) => a.or(b), DocSet.none(segment.docs));
}

async function docsWith(segment: Searched, section: Section, term: string): Promise<DocSet> {
  const entry = await segment.term(section, term);
  return entry === undefined ? DocSet.none(segment.docs) : (await segment.docsOf(section, [entry]))[0]!;
}

function docsInRun(
  { segment, check }: Within,
  section: Section,
  { prefix, fact }: RunPlan,
): Awaitable<DocSet> {
  const isAsked = (term: string) => {
    if (fact === undefined) return true;
    if (fact === 'Whole') return isWholeKey(term.slice(prefix.length));
    return spellingOf(term.slice(fact.letterEnd)).startsWith(fact.spelling);
  };
  return segment.docsInRun(section, { prefix, isAsked }, check);
}

/** Numbers that share the place of the one that is asked for must be looked at, unless only that one has the place. */
async function docsWithNumber(
  { segment, check }: Within,
  { sections, prefix, operator, number }: NumberPlan,
): Promise<Finding> {
  const { place, isExact } = placeOf(number);
  const at = prefix + place;
  const none = DocSet.none(segment.docs);
  const run = operator.startsWith('>')
    ? { prefix, from: at, isAsked: (term: string) => term !== at }
    : { prefix, below: at };
  const [others, own] = await Promise.all([
    operator === '='
      ? none
      : inSections(sections, segment, async (section) => segment.docsInRun(section, run, check)),
    isExact && !operator.endsWith('=')
      ? none
      : inSections(sections, segment, (section) => docsWith(segment, section, at)),
  ]);
  const possible = others.or(own);
  return isExact || own.count === 0 ? exactly(possible) : { sure: others, possible };
}

async function docsInTime(segment: Searched, { column, from, to }: TimePlan): Promise<DocSet> {
  const name = column === 'timestamp' ? 'atMs' : 'receivedMs';
  const found = new DocSetBuilder(segment.docs);
  const isWithin = (atMs: number, atNs: number) =>
    (from === undefined || compareMoments({ atMs, atNs }, from) >= 0) &&
    (to === undefined || compareMoments({ atMs, atNs }, to) <= 0);
  await Promise.all(
    blocksOf(segment).map(async ({ block, first, end }) => {
      const { min, max } = segment.boundsOf(name, block);
      const isBeyond = (from !== undefined && max < from.atMs) || (to !== undefined && min > to.atMs);
      if (isBeyond) return;
      const isInside = (from === undefined || min > from.atMs) && (to === undefined || max < to.atMs);
      if (isInside) return found.addRange(first, end);
      const [atMs, atNs] = await Promise.all([
        segment.numbers(name, block),
        column === 'timestamp' ? segment.numbers('atNs', block) : undefined,
      ]);
      for (let i = 0; i < atMs.length; i++) if (isWithin(atMs[i]!, atNs?.[i] ?? 0)) found.add(first + i);
    }),
  );
  return found.take();
}

async function docsWithTraits(segment: Searched, numbers: readonly number[]): Promise<DocSet> {
  const asked = segment.traits.filter(([number]) => numbers.includes(number));
  const count = asked.reduce((sum, [, docs]) => sum + docs, 0);
  if (count === segment.docs) return DocSet.all(segment.docs);
  const sets = await Promise.all(asked.map(([number]) => docsWith(segment, 'facts', traitsTerm(number))));
  return sets.reduce((a, b) => a.or(b), DocSet.none(segment.docs));
}

function docsWithin({ firstIndex, docs }: Searched, spans: readonly IndexSpan[]): DocSet {
  const found = new DocSetBuilder(docs);
  for (const span of spans)
    found.addRange(Math.max(0, span.firstIndex - firstIndex), Math.min(docs, span.endIndex - firstIndex));
  return found.take();
}

/** Those whose ids are not below the one nor above the other. */
async function docsWithEventId(segment: Searched, first: string, last: string): Promise<DocSet> {
  const order = new PieceOrder(segment, 'eventId');
  const [from, end] = await Promise.all([
    order.positionOf(async (doc) => (await eventIdAt(segment, doc)) < first),
    order.positionOf(async (doc) => (await eventIdAt(segment, doc)) <= last),
  ]);
  const found = new DocSetBuilder(segment.docs);
  for (const { block, first: firstPosition, end: blockEnd } of blocksOf(segment)) {
    if (blockEnd <= from || firstPosition >= end) continue;
    const docs = await order.block(block);
    for (let at = Math.max(from, firstPosition); at < Math.min(end, blockEnd); at++)
      found.add(docs[at - firstPosition]!);
  }
  return found.take();
}

interface DocBlock {
  readonly block: number;
  readonly first: number;
  readonly end: number;
}

/** The docs of a segment as its columns have them. */
export function blocksOf({ docs }: Pick<Searched, 'docs'>): DocBlock[] {
  return Array.from({ length: Math.ceil(docs / COLUMN_DOCS) }, (_, block) => ({
    block,
    first: block * COLUMN_DOCS,
    end: Math.min(docs, (block + 1) * COLUMN_DOCS),
  }));
}
