// Brings the views after the log: tenant by tenant, small ones together, each from where its view ends to where its log does.
// The position is saved in the same commit as what was indexed. The entries of a tenant become visible in their order, so
// none is passed by that is committed late. Each node follows the logs in its shares. Where two should do it at once, who has
// locked the row of a view adds to it, the other passes on. Old views are removed portion by portion in the same turns. A view
// that is made anew is made portion by portion, behind the one that answers meanwhile.

import type { TenantId } from '@tallystick/contract';
import type { BuildStep } from '../../../events/event-index.ts';
import type { FollowerTurn } from '../../../followers/follower-work.ts';
import { numberOf } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement, type Transaction } from '../connection/database.ts';
import { NO_SUCH_EVENT } from '../../event-index/index-letter.ts';
import { NOTHING_TO_BUILD } from '../../event-index/nothing-found.ts';
import { JobTables } from '../../work/job-tables.ts';
import { HeldShares, stillHeld } from '../nodes/held-shares.ts';
import { jobsIn } from '../work/work.ts';
import { addLetters, type Letters } from './dead-letters.ts';
import { WrittenPortion } from './index-writer.ts';
import { rowsAt } from './logged-events.ts';
import { BEHIND_MAX, gathered, type LogBehind, LogsBehind } from './logs-behind.ts';
import { addAll, isOfEvent, PIECE_BYTES, readPiece, type Reasons, refusalOf } from './pieces.ts';
import { NOT_DURABLY, removeOldPortion } from './old-views.ts';
import { takeTogether } from './small-logs.ts';
import { NOTHING, setAsideOf, type Taken } from './taken.ts';
import { TermsOfViews, type View, VIEW_COLUMNS, viewIn } from './views.ts';

export interface FollowerParts {
  readonly database: Database;
  readonly nextId: () => string;
  /** How many events are taken of a log at once. */
  readonly portion?: number;
  /** The logs that are followed; undefined: all. */
  readonly held?: HeldShares;
}

/** At most: large enough that a commit and counts cost little of it, small enough that nobody waits long for the view. */
const PORTION = 4000;
/** How many logs are taken one by one in a turn; the others come in the next. */
const ALONE_MAX = 100;

const LOCK = statement(
  `SELECT ${VIEW_COLUMNS}, state FROM views WHERE tenant_id = $1 AND state IN ('Current', 'Building')
   ORDER BY generation FOR UPDATE`,
);
const LOCK_CURRENT = statement(
  `SELECT ${VIEW_COLUMNS} FROM views WHERE tenant_id = $1 AND state = 'Current' FOR UPDATE SKIP LOCKED`,
);
// It comes after all others that the tenant has had. Of two who begin at once, the second finds one in the making.
const BEGIN = statement(
  `INSERT INTO views (tenant_id, generation, state)
   SELECT heads.tenant_id, coalesce((SELECT max(generation) FROM views WHERE views.tenant_id = heads.tenant_id), 1) + 1,
     'Building' FROM heads WHERE heads.tenant_id = $1 ON CONFLICT DO NOTHING`,
);
const LOCK_BUILDING = statement(
  `SELECT ${VIEW_COLUMNS} FROM views WHERE tenant_id = $1 AND state = 'Building' FOR UPDATE`,
);
const HEAD = statement('SELECT next_index FROM heads WHERE tenant_id = $1');
const ADVANCE = statement('UPDATE views SET next_index = $3 WHERE tenant_id = $1 AND generation = $2');
const SET_STATE = statement('UPDATE views SET state = $3 WHERE tenant_id = $1 AND generation = $2');
const HAS_DOC = statement('SELECT 1 FROM docs WHERE tenant_id = $1 AND generation = $2 AND leaf_index = $3');

export class IndexFollower {
  readonly #database: Database;
  readonly #letters: Letters;
  readonly #portion: number;
  readonly #terms = new TermsOfViews();
  readonly #behind: LogsBehind;

  constructor({ database, nextId, portion = PORTION, held = HeldShares.all() }: FollowerParts) {
    this.#database = database;
    this.#letters = { jobs: new JobTables(jobsIn(database)), nextId };
    this.#portion = portion;
    this.#behind = new LogsBehind(database, held);
  }

  /** One portion of each: of the logs that have gone on, and of a view that is going away. */
  async turn(): Promise<FollowerTurn> {
    const taken: Taken[] = [];
    const isLeft = await this.#followAll(taken);
    const isRemoving = await removeOldPortion(this.#database);
    return {
      isMore: isLeft || isRemoving || taken.some(({ isMore }) => isMore),
      taken: taken.reduce((sum, { count }) => sum + count, 0),
      setAside: taken.flatMap(({ setAside }) => setAside),
    };
  }

  /** Why an event that was passed over cannot be indexed now either; undefined: it can be. */
  async indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    return this.#database.inTransaction(ALL_TENANTS, async (transaction) => {
      const locked = await transaction.query(LOCK, [tenant]);
      const { rows } = await rowsAt(transaction, tenant, [index], PIECE_BYTES);
      const [row] = rows;
      if (row === undefined) return NO_SUCH_EVENT;
      let reason: string | undefined;
      for (const view of locked.map((each) => viewIn(tenant, each))) {
        // One that is being made and has not come so far yet will take it by itself.
        if (view.nextIndex <= row.index || (await this.#hasDoc(transaction, view, row.index))) continue;
        const written = await this.#begin(transaction, view);
        const failed = await addAll(written, [row]);
        reason ??= failed.get(row.index) ?? (await refusalOf(transaction, () => written.write(transaction)));
      }
      return reason;
    });
  }

  /** A portion of a view that is made anew; with the last one it takes the place of the one that has answered. */
  build(tenant: TenantId): Promise<BuildStep> {
    return this.#orFewer((portion) => this.#build(tenant, portion));
  }

  /** Small ones many at a time, large ones one by one; true if some were left for the next turn. */
  async #followAll(taken: Taken[]): Promise<boolean> {
    const behind = await this.#behind.find();
    const isDistributed = await this.#database.isDistributed();
    const { together, alone } = isDistributed
      ? { together: [], alone: behind }
      : gathered(behind, this.#portion);
    for (const logs of together) taken.push(...(await this.#followTogether(logs)));
    for (const log of alone.slice(0, ALONE_MAX)) taken.push(await this.#followAlone(log));
    return behind.length === BEHIND_MAX || alone.length > ALONE_MAX;
  }

  /** Where the database refuses an event, only its log is to suffer from it. */
  async #followTogether(logs: readonly LogBehind[]): Promise<Taken[]> {
    const taking = { terms: this.#terms, portion: this.#portion, letters: this.#letters };
    try {
      const taken = await this.#database.inTransaction(ALL_TENANTS, (transaction) =>
        takeTogether(transaction, logs, taking),
      );
      return [taken];
    } catch (error) {
      if (!isOfEvent(error)) throw error;
    }
    const taken: Taken[] = [];
    for (const log of logs) taken.push(await this.#followAlone(log));
    return taken;
  }

  #followAlone(log: LogBehind): Promise<Taken> {
    return this.#orFewer((portion) => this.#follow(log, portion));
  }

  /** What the database refuses is tried again with fewer events, until it is one alone. */
  async #orFewer<T>(work: (portion: number) => Promise<T>): Promise<T> {
    for (let portion = this.#portion; ; portion = Math.ceil(portion / 8)) {
      try {
        return await work(portion);
      } catch (error) {
        if (!isOfEvent(error) || portion === 1) throw error;
      }
    }
  }

  async #follow({ tenant, lease }: LogBehind, portion: number): Promise<Taken> {
    return this.#database.inTransaction(ALL_TENANTS, async (transaction) => {
      const [held, , [locked], [head]] = await Promise.all([
        stillHeld(transaction, lease),
        transaction.query(NOT_DURABLY),
        transaction.query(LOCK_CURRENT, [tenant]),
        transaction.query(HEAD, [tenant]),
      ]);
      if (locked === undefined || held?.size === 0) return NOTHING;
      const view = viewIn(tenant, locked);
      const end = numberOf(head, 'next_index');
      if (view.nextIndex >= end) return NOTHING;
      const { failed, nextIndex } = await this.#indexPortion(transaction, view, { end, portion });
      const setAside = setAsideOf(tenant, failed);
      return { count: nextIndex - view.nextIndex, isMore: nextIndex < end, setAside };
    });
  }

  /** Takes the next events of a log into a view, and saves where it ends now. */
  async #indexPortion(
    transaction: Transaction,
    view: View,
    { end, portion }: { readonly end: number; readonly portion: number },
  ): Promise<Indexed> {
    const { tenant, generation, nextIndex: fromIndex } = view;
    const endIndex = Math.min(end, fromIndex + portion);
    const indexed = await this.#indexUpTo(transaction, view, endIndex, portion === 1);
    await addLetters(transaction, tenant, indexed.failed, this.#letters);
    await transaction.change(ADVANCE, [tenant, generation, indexed.nextIndex]);
    return indexed;
  }

  /**
   * Piece by piece, up to one that is cut: the next one is read before this one is written. What has no content has nothing
   * to be found by.
   */
  async #indexUpTo(
    transaction: Transaction,
    view: View,
    endIndex: number,
    isAlone: boolean,
  ): Promise<Indexed> {
    const written = await this.#begin(transaction, view);
    const indexes: number[] = [];
    const failed = new Map<number, string>();
    let writing: Promise<unknown> | undefined;
    let piece = await readPiece(transaction, view, view.nextIndex, endIndex);
    for (;;) {
      const { rows, nextIndex, isCut } = piece;
      const isLast = isCut || nextIndex >= endIndex;
      const reading = !isLast && readPiece(transaction, view, nextIndex, endIndex);
      if (reading !== false) reading.catch(() => {});
      indexes.push(...rows.map(({ index }) => index));
      for (const [index, reason] of await addAll(written, rows)) failed.set(index, reason);
      await writing;
      if (reading === false) break;
      writing = written.writeDocs(transaction);
      writing.catch(() => {});
      piece = await reading;
    }
    const refused = isAlone
      ? await refusalOf(transaction, () => written.write(transaction))
      : await written.write(transaction);
    if (refused !== undefined) failed.set(indexes[0]!, refused);
    return { indexes, failed, nextIndex: piece.nextIndex };
  }

  async #begin(transaction: Transaction, view: View): Promise<WrittenPortion> {
    return new WrittenPortion([await this.#terms.open(transaction, view)]);
  }

  async #hasDoc(transaction: Transaction, { tenant, generation }: View, index: number): Promise<boolean> {
    return (await transaction.query(HAS_DOC, [tenant, generation, index])).length > 0;
  }

  async #build(tenant: TenantId, portion: number): Promise<BuildStep> {
    return this.#database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.change(BEGIN, [tenant]);
      const [locked] = await transaction.query(LOCK_BUILDING, [tenant]);
      if (locked === undefined) return NOTHING_TO_BUILD;
      const building = viewIn(tenant, locked);
      const [answering] = await transaction.query(LOCK_CURRENT, [tenant]);
      // Somebody is adding to it, and where it ends is not known: next time. Or nothing was ever logged.
      if (answering === undefined && (await this.#isFollowed(transaction, tenant))) return NOTHING_BUILT;
      const end = answering === undefined ? 0 : numberOf(answering, 'next_index');
      const { nextIndex } = await this.#indexPortion(transaction, building, { end, portion });
      const isDone = nextIndex >= end;
      if (isDone) {
        if (answering !== undefined)
          await transaction.change(SET_STATE, [tenant, numberOf(answering, 'generation'), 'Old']);
        await transaction.change(SET_STATE, [tenant, building.generation, 'Current']);
      }
      return { processedEvents: nextIndex, totalEvents: end, isDone };
    });
  }

  /** There is a view that answers, or there will be one. */
  async #isFollowed(transaction: Transaction, tenant: TenantId): Promise<boolean> {
    const [head] = await transaction.query(HEAD, [tenant]);
    return head !== undefined && numberOf(head, 'next_index') > 0;
  }
}

/** Somebody else has it now: it is to be asked again. */
const NOTHING_BUILT: BuildStep = { processedEvents: 0, totalEvents: 0, isDone: false };

/** What was taken of a log. */
interface Indexed {
  readonly indexes: readonly number[];
  readonly failed: Reasons;
  readonly nextIndex: number;
}
