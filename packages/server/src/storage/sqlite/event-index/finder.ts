// Answers questions from a view: how many match, and one page of them in an order. Up to the exact limit all that match
// are gathered and sorted; past it, the order itself is walked and what does not match is passed over.

import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { LIMITS } from '@tallystick/contract';
import { eventIdText } from '@tallystick/evidence';
import type { OrderStep, SortKey, Question } from '../../../events/event-index.ts';
import type { LoggedEvents } from './logged-events.ts';
import { type DocList, firstIn, listOf, Matcher, type Matching } from './matching.ts';
import { Order } from '../../event-index/order.ts';
import { hasPrefix } from '../../event-index/plan.ts';
import { COUNTED, KEY_KINDS, SPANS } from '../../event-index/index-columns.ts';
import { type Alive, whileAlive } from './stop.ts';
import type { OpenView } from './views.ts';

/** A doc of a page. */
export interface FoundDoc {
  readonly doc: number;
  readonly place: SortKey;
}

/** What a question comes to. */
export interface Match {
  readonly matching: Matching;
  /** Exact up to the limit, one more past it. */
  readonly total: number;
  /** All that match, if they are no more than that and were gathered. */
  readonly docs: DocList | undefined;
  /** Most events match, and to find which would take long once more: while that holds, each one is looked at itself. */
  readonly isDense: boolean;
}

const WALKED_MIN = 500;
const WALKED_MAX = 20_000;
/** Docs that stand this much further apart than there are of them are not looked for together. */
const SCATTERED = 50;
/** One in so many matches, at least, where they are dense. */
const DENSE = 2;

const COLUMNS = 'd.doc, d.at_ms, d.at_ns, d.event_id, d.leaf_index, k.text';
const ACTION = 'k.text';
const WITH_ACTION = 'JOIN keys k ON k.key = d.action';
/** The counts that hold every event once. */
const EVER = `counted = ${COUNTED.indexOf('all')} AND span = ${SPANS.indexOf('ever')}`;

export class Finder {
  readonly matcher: Matcher;

  readonly #gatheredMax: number;

  /** More than `gatheredMax` are not gathered. */
  constructor(db: DatabaseSync, events: LoggedEvents, alive: Alive, gatheredMax: number) {
    this.matcher = new Matcher(db, events, alive);
    this.#gatheredMax = gatheredMax;
  }

  match(view: OpenView, question: Question): Match {
    const matching = this.matcher.matching(view, question);
    const { plan, isTimed } = matching;
    if (plan.of === 'None') return { matching, total: 0, docs: listOf([]), isDense: false };
    if (plan.of === 'All' && plan.exact && !isTimed) {
      return { matching, total: this.#countAll(view, matching), docs: undefined, isDense: false };
    }
    const docs = this.matcher.docs(matching, question, this.#gatheredMax);
    return {
      matching,
      total: docs.count,
      docs: docs.count <= this.#gatheredMax ? docs : undefined,
      isDense: hasPrefix(plan) && docs.span <= docs.count * DENSE,
    };
  }

  /** How many there are at most, up to one more than are gathered: as many as the plan finds. `known` is not counted again. */
  countAtMost(view: OpenView, question: Question, known: Match): number {
    const matching = this.matcher.matching(view, question);
    const { plan, isTimed } = matching;
    if (isSame(matching, known.matching)) return known.total;
    if (plan.of === 'All' && !isTimed) return this.#countAll(view, matching);
    return this.matcher.countAtMost(matching, this.#gatheredMax + 1);
  }

  page(match: Match, question: Question, order: readonly OrderStep[]): FoundDoc[] {
    const steps = new Order(order, question.direction, ACTION);
    if (match.docs !== undefined) return this.#sorted(match.docs, steps, question);
    return [...this.#walked(match, steps, question)];
  }

  /** These docs, in the order in which they are given. */
  places(docs: readonly number[]): FoundDoc[] {
    const sql = `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN docs d ON d.doc = j.value ${WITH_ACTION} ORDER BY j.key`;
    return this.matcher.prepared(sql).all(JSON.stringify(docs)).map(foundDoc);
  }

  /** Of a view by kind and class alone, from the counts. */
  #countAll({ view }: OpenView, { condition }: Matching): number {
    const sql = `SELECT coalesce(sum(count), 0) FROM counts WHERE view = ? AND ${EVER}${condition.ofCounts}`;
    return Math.min(firstIn(this.matcher.prepared(sql).get(view)), LIMITS.listExactTotalMax + 1);
  }

  #sorted({ json }: DocList, order: Order, { beyond, rowsMax }: Question): FoundDoc[] {
    const after = afterOf(order, beyond);
    const sql = `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN docs d ON d.doc = j.value ${WITH_ACTION}
      ${after === undefined ? '' : `WHERE ${after.sql}`} ORDER BY ${order.sql} LIMIT ?`;
    return this.matcher
      .prepared(sql)
      .all(json, ...(after?.values ?? []), rowsMax)
      .map(foundDoc);
  }

  /** Portion by portion of the order, as many as are asked for. */
  *#walked({ matching, isDense }: Match, order: Order, question: Question): Generator<FoundDoc> {
    const { plan } = matching;
    let { beyond } = question;
    // Where nothing is passed over, no more than are asked for.
    const isEach = plan.of === 'All' && plan.exact;
    let portion = isEach ? question.rowsMax : WALKED_MIN;
    let found = 0;
    for (let isLookedAt = isDense; ; ) {
      const foundBefore = found;
      const docs = this.#inOrder(matching, order, beyond, portion);
      const chosen = plan.of === 'Some' && !isLookedAt ? this.#chosen(matching, docs) : undefined;
      for (const doc of docs) {
        if (chosen !== undefined && !chosen.has(doc.doc)) continue;
        if ((isLookedAt || !plan.exact) && !this.matcher.isAsked(doc.doc, question)) continue;
        yield doc;
        if (++found === question.rowsMax) return;
      }
      if (docs.length < portion) return;
      // What was dense among the oldest need not be so here.
      isLookedAt &&= (found - foundBefore) * DENSE >= docs.length;
      beyond = docs.at(-1)!.place;
      portion = Math.min(portion * 2, WALKED_MAX);
    }
  }

  #inOrder({ condition }: Matching, order: Order, beyond: SortKey | undefined, limit: number): FoundDoc[] {
    const after = afterOf(order, beyond);
    // By action, the keys are the outer loop: they are few and sorted.
    const from = order.usesAction
      ? 'keys k CROSS JOIN docs d ON d.view = k.view AND d.action = k.key'
      : `docs d ${WITH_ACTION}`;
    const ofKeys = order.usesAction ? `k.view = ? AND k.kind = ${KEY_KINDS.indexOf('action')} AND ` : '';
    const sql = `SELECT ${COLUMNS} FROM ${from} WHERE ${ofKeys}${condition.sql}
      ${after === undefined ? '' : `AND ${after.sql}`} AND ${whileAlive('d.doc')} ORDER BY ${order.sql} LIMIT ?`;
    const view = condition.values[0]!;
    return this.matcher
      .prepared(sql)
      .all(...(order.usesAction ? [view] : []), ...condition.values, ...(after?.values ?? []), limit)
      .map(foundDoc);
  }

  /** Which of these the plan finds; they stand close together where events come in the order of their times. */
  #chosen(matching: Matching, docs: readonly FoundDoc[]): ReadonlySet<number> {
    const numbers = docs.map(({ doc }) => doc).sort((a, b) => a - b);
    const chosen = new Set<number>();
    for (let i = 0; i < numbers.length; ) {
      let end = i + 1;
      while (end < numbers.length && numbers[end]! - numbers[end - 1]! <= SCATTERED) end++;
      for (const doc of this.matcher.within(matching, numbers[i]!, numbers[end - 1]!)) chosen.add(doc);
      i = end;
    }
    return chosen;
  }
}

/** What lies beyond a place, and its parameters. */
function afterOf(
  order: Order,
  beyond: SortKey | undefined,
): { readonly sql: string; readonly values: readonly SQLInputValue[] } | undefined {
  if (beyond === undefined) return undefined;
  const values: SQLInputValue[] = [];
  const sql = order.beyond(beyond, (value) => (values.push(value), '?'));
  return { sql, values };
}

/** Where words are asked for, and tell exactly. */
function isSame({ plan, condition }: Matching, other: Matching): boolean {
  if (plan.of !== 'Some' || other.plan.of !== 'Some' || !other.plan.exact) return false;
  if (plan.match !== other.plan.match || condition.sql !== other.condition.sql) return false;
  return condition.values.every((value, i) => value === other.condition.values[i]);
}

type Row = readonly [number, number, number, Uint8Array, number, string];

function foundDoc(row: unknown): FoundDoc {
  // As COLUMNS says.
  const [doc, atMs, atNs, eventId, index, action] = row as Row;
  return { doc, place: { atMs, atNs, action, eventId: eventIdText(eventId), index } };
}
