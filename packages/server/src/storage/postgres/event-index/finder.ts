// Answers questions from a view: how many match, and one page of them in an order. Up to the exact limit all that match
// are gathered and sorted; past it, the order itself is walked and what does not match is passed over.

import { LIMITS } from '@tallystick/contract';
import { eventIdText } from '@tallystick/evidence';
import type { OrderStep, SortKey, Question } from '../../../events/event-index.ts';
import { COUNTED, SPANS } from '../../event-index/index-columns.ts';
import { Order } from '../../event-index/order.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { type Row, statement } from '../connection/database.ts';
import { FIRST_DOCS } from './first-docs.ts';
import type { Matcher, Matching } from './matching.ts';
import { once, Parameters } from './parameters.ts';
import { inItsOrder } from './index-choice.ts';
import type { OpenView } from './views.ts';

/** What a question comes to. */
export interface Match {
  readonly matching: Matching;
  /** Exact up to the limit, one more past it. */
  readonly total: number;
  /** All that match, newest first, where each was looked at and they are no more than that. */
  readonly docs: readonly number[] | undefined;
  /** What was asked for, where it was found by the plan alone together with the total. */
  readonly page: readonly SortKey[] | undefined;
}

const WALKED_MIN = 500;
const WALKED_MAX = 20_000;

const COLUMNS = 'd.leaf_index, d.at_ms, d.at_ns, d.event_id, d.action';
const ACTION = 'd.action';

/** The counts that hold every event once, and the docs that are not counted. */
const COUNT_ALL = statement(
  `SELECT (SELECT coalesce(sum(count), 0)::bigint FROM view_counts
     WHERE tenant_id = $1 AND generation = $2 AND counted = ${COUNTED.indexOf('all')} AND span = ${SPANS.indexOf('ever')}
       AND kind = ANY($3::smallint[]) AND classification = ANY($4::smallint[]))
   + (SELECT count(*) FROM docs WHERE tenant_id = $1 AND generation = $2 AND leaf_index < ${FIRST_DOCS}
       AND kind = ANY($3::smallint[]) AND classification = ANY($4::smallint[])) AS count`,
);
const PLACES = statement(
  `SELECT ${COLUMNS} FROM unnest($3::bigint[]) WITH ORDINALITY AS asked (index, place)
   JOIN LATERAL (SELECT * FROM docs
     WHERE docs.tenant_id = $1 AND docs.generation = $2 AND docs.leaf_index = asked.index LIMIT 1) AS d ON true
   ORDER BY asked.place`,
);

export class Finder {
  readonly matcher: Matcher;
  readonly #gatheredMax: number;

  /** More than `gatheredMax` are not gathered. */
  constructor(matcher: Matcher, gatheredMax: number) {
    this.matcher = matcher;
    this.#gatheredMax = gatheredMax;
  }

  async match(view: OpenView, question: Question): Promise<Match> {
    const matching = await this.matcher.matching(view, question);
    const { plan, isTimed } = matching;
    const unread = { matching, docs: undefined, page: undefined };
    if (plan.of === 'None') return { ...unread, total: 0, docs: [] };
    if (plan.of === 'All' && plan.exact && !isTimed) return this.#everything(matching, question);
    if (plan.exact) return this.#foundExactly(matching, question);
    const docs = await this.matcher.newest(matching, question, this.#gatheredMax + 1);
    return { ...unread, total: docs.length, docs: docs.length <= this.#gatheredMax ? docs : undefined };
  }

  /** Total and page at once: neither needs the other. */
  async #everything(matching: Matching, question: Question): Promise<Match> {
    const { order, direction } = question;
    const [total, page] = await Promise.all([
      this.#countAll(matching),
      order === 'Relevance'
        ? undefined
        : this.#walked(matching, new Order(order, direction, ACTION), question),
    ]);
    return { matching, total, docs: undefined, page };
  }

  async #foundExactly(matching: Matching, question: Question): Promise<Match> {
    const tooMany = this.#gatheredMax + 1;
    if (this.matcher.knownCount(matching, tooMany) === tooMany)
      return { matching, total: tooMany, docs: undefined, page: undefined };
    return this.#foundAtOnce(matching, question);
  }

  /** Total and page in one statement, unless they are too many to be sorted. */
  async #foundAtOnce(matching: Matching, question: Question): Promise<Match> {
    const { order, beyond, rowsMax, direction } = question;
    const { sql, parameters } = this.matcher.found(matching, COLUMNS);
    const steps = new Order(order === 'Relevance' ? [] : order, direction, ACTION);
    const after = afterOf(steps, beyond, parameters);
    const max = parameters.mark(this.#gatheredMax);
    // The one row of the total is there, too, where the page is empty.
    const text = `WITH found AS MATERIALIZED (${sql} LIMIT ${max}::bigint + 1),
        counted AS (SELECT count(*) AS total FROM found),
        page AS (SELECT d.* FROM found AS d WHERE (SELECT total FROM counted) <= ${max}::bigint${after}
                 ORDER BY ${steps.sql} LIMIT ${parameters.mark(order === 'Relevance' ? 0 : rowsMax)})
      SELECT d.*, counted.total FROM counted LEFT JOIN page AS d ON true ORDER BY ${steps.sql}`;
    const rows = await this.matcher.byTerms(text, parameters.values);
    const total = numberOf(rows[0], 'total');
    this.matcher.rememberCount(matching, this.#gatheredMax + 1, total);
    const page = rows.filter((row) => row['leaf_index'] !== null).map(placeIn);
    const isWhole = total <= this.#gatheredMax && order !== 'Relevance';
    return { matching, total, docs: undefined, page: isWhole ? page : undefined };
  }

  /**
   * How many there are at most, up to one more than are gathered: as many as the plan finds. Docs that are found by
   * whatever is asked are not counted: few of them are what was asked for.
   */
  async countAtMost(view: OpenView, question: Question): Promise<number> {
    const matching = await this.matcher.matching({ ...view, largeDocs: 0 }, question);
    const { plan, isTimed } = matching;
    if (plan.of === 'All' && !isTimed) return this.#countAll(matching);
    return this.matcher.countAtMost(matching, this.#gatheredMax + 1);
  }

  async page(match: Match, question: Question, order: readonly OrderStep[]): Promise<readonly SortKey[]> {
    if (match.page !== undefined) return match.page;
    const steps = new Order(order, question.direction, ACTION);
    if (match.docs !== undefined) return this.#sorted(match.matching, match.docs, steps, question);
    return this.#walked(match.matching, steps, question);
  }

  /** Of these docs, in the order in which they are given. */
  async places({ tenant, generation }: OpenView, docs: readonly number[]): Promise<SortKey[]> {
    return (await this.matcher.transaction.query(PLACES, [tenant, generation, docs])).map(placeIn);
  }

  /** Of a view by kind and class alone, from the counts. */
  async #countAll({ view, kinds, classes }: Matching): Promise<number> {
    const values = [view.tenant, view.generation, kinds, classes];
    const [row] = await this.matcher.transaction.query(COUNT_ALL, values);
    return Math.min(numberOf(row, 'count'), LIMITS.listExactTotalMax + 1);
  }

  async #sorted(
    { view }: Matching,
    docs: readonly number[],
    order: Order,
    { beyond, rowsMax }: Question,
  ): Promise<SortKey[]> {
    const parameters = new Parameters([view.tenant, view.generation, docs]);
    const after = afterOf(order, beyond, parameters);
    const text = `SELECT ${COLUMNS} FROM docs AS d
      WHERE d.tenant_id = $1 AND d.generation = $2 AND d.leaf_index = ANY($3::bigint[])${after}
      ORDER BY ${order.sql} LIMIT ${parameters.mark(rowsMax)}`;
    return (await this.matcher.transaction.query(once(text), parameters.values)).map(placeIn);
  }

  /** Portion by portion of the order, as many as are asked for. */
  async #walked(matching: Matching, order: Order, question: Question): Promise<SortKey[]> {
    const { plan, view } = matching;
    // Where nothing is passed over, no more than are asked for.
    const isEach = plan.of === 'All' && plan.exact;
    let portion = isEach ? question.rowsMax : WALKED_MIN;
    let { beyond } = question;
    const found: SortKey[] = [];
    for (;;) {
      const { chosen, last } = await this.#inOrder(matching, order, beyond, portion);
      const indexes = chosen.map(({ index }) => index);
      const asked = plan.exact ? undefined : await this.matcher.asked(view.tenant, indexes, question);
      for (const place of chosen) {
        if (asked !== undefined && !asked.has(place.index)) continue;
        if (found.push(place) === question.rowsMax) return found;
      }
      if (last === undefined) return found;
      await this.matcher.pause();
      beyond = last;
      portion = Math.min(portion * 2, WALKED_MAX);
    }
  }

  /** Which of the next so many the plan finds, and the last one of them; undefined at the end of the order. */
  async #inOrder(
    matching: Matching,
    order: Order,
    beyond: SortKey | undefined,
    limit: number,
  ): Promise<{ readonly chosen: readonly SortKey[]; readonly last: SortKey | undefined }> {
    const parameters = new Parameters();
    const condition = this.matcher.condition(matching, parameters);
    const after = afterOf(order, beyond, parameters);
    const { plan } = matching;
    const isChosen = plan.of === 'Some' ? `d.terms @@ ${parameters.mark(plan.match)}::tsquery` : 'true';
    // The terms are looked at behind the limit: they are large, and kept apart from the row.
    const text = `SELECT * FROM (
        SELECT ${COLUMNS}, row_number() OVER () AS place, count(*) OVER () AS whole, ${isChosen} AS is_chosen
        FROM (SELECT ${COLUMNS}, d.terms FROM docs AS d WHERE ${condition}${after}
              ORDER BY ${order.sql} LIMIT ${parameters.mark(limit)}) AS d
      ) AS walked WHERE is_chosen OR place = whole ORDER BY place`;
    const rows = await inItsOrder(this.matcher.transaction, once(text), parameters.values);
    const end = rows.at(-1);
    return {
      chosen: rows.filter((row) => row['is_chosen'] === true).map(placeIn),
      last: end !== undefined && numberOf(end, 'whole') === limit ? placeIn(end) : undefined,
    };
  }
}

function afterOf(order: Order, beyond: SortKey | undefined, parameters: Parameters): string {
  return beyond === undefined ? '' : ` AND ${order.beyond(beyond, (value) => parameters.mark(value))}`;
}

function placeIn(row: Row): SortKey {
  return {
    index: numberOf(row, 'leaf_index'),
    atMs: numberOf(row, 'at_ms'),
    atNs: numberOf(row, 'at_ns'),
    eventId: eventIdText(blobOf(row, 'event_id')),
    action: textIn(row, 'action'),
  };
}
