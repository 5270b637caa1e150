// Brings the views after the log: tenant by tenant, each from where its view ends to where its log does, and the position
// is saved in the same commit as what was indexed. The entries of a tenant become visible in their order, so none is passed
// by that is committed late. Each node does this for the logs in its shares. Where two should do it at once, who has locked
// the row of a view adds to it, and the other passes on to the next. In the same turns views are made anew, behind the ones that answer meanwhile, old ones are removed
// portion by portion, and dead letters whose time is over are let go.

import type { TenantId } from '@tallystick/contract';
import type { FollowerTurn, SetAside } from '../../../followers/follower-work.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { type Database, PROJECTOR, type Row, statement, type Transaction } from '../database.ts';
import { HeldShares, type Leases, stillHeld } from '../held-shares.ts';
import {
  addLetter,
  findLetter,
  type IndexLetter,
  removeExpiredLetters,
  removeLetters,
} from './dead-letters.ts';
import { WrittenPortion } from './index-writer.ts';
import { rowsAt } from './logged-events.ts';
import {
  addAll,
  ATTEMPTS_MAX,
  isOfEvent,
  PIECE_BYTES,
  readPiece,
  type Reasons,
  refusalOf,
} from './pieces.ts';
import { markBegun, markComplete } from './rebuilds.ts';
import { NOT_DURABLY, removeOldPortion } from './old-views.ts';
import { lockViewIn, TermsOfViews, type View, VIEW_COLUMNS, viewIn } from './views.ts';

export interface FollowerParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly nextId: () => string;
  /** How many events are taken of a log at once. */
  readonly portion?: number;
  /** The logs that are followed; undefined: all. */
  readonly held?: HeldShares;
}

/** At most: large enough that a commit and counts cost little of it, small enough that nobody waits long for the view. */
const PORTION = 4000;
/** How many tenants are looked after in a turn; the others come in the next. */
const TENANTS_MAX = 100;

// In any order: so no tenant waits for ever behind the same others, and nodes begin with different ones.
const BEHIND = statement(
  `SELECT heads.tenant_id, heads.share, views.generation IS NULL AS is_new FROM heads
   LEFT JOIN views ON views.tenant_id = heads.tenant_id AND views.state = 'Current'
   WHERE heads.next_index > coalesce(views.next_index, 0) AND ($1::smallint[] IS NULL OR heads.share = ANY($1))
   ORDER BY random() LIMIT ${TENANTS_MAX}`,
);
// One that answers comes before what is being made in its place.
const ADD_VIEWS = statement(
  `INSERT INTO views (tenant_id, generation, state)
   SELECT heads.tenant_id,
     coalesce((SELECT min(generation) FROM views WHERE views.tenant_id = heads.tenant_id), 2) - 1, 'Current'
   FROM heads WHERE heads.tenant_id = ANY($1::text[]) ORDER BY heads.tenant_id ON CONFLICT DO NOTHING`,
);
const LOCK = statement(
  `SELECT ${VIEW_COLUMNS}, state FROM views WHERE tenant_id = $1 AND state IN ('Current', 'Building')
   ORDER BY generation FOR UPDATE`,
);
const LOCK_CURRENT = statement(
  `SELECT ${VIEW_COLUMNS} FROM views WHERE tenant_id = $1 AND state = 'Current' FOR UPDATE SKIP LOCKED`,
);
const HEAD = statement('SELECT next_index FROM heads WHERE tenant_id = $1');
const ADVANCE = statement('UPDATE views SET next_index = $3 WHERE tenant_id = $1 AND generation = $2');
const SET_STATE = statement('UPDATE views SET state = $3 WHERE tenant_id = $1 AND generation = $2');
const HAS_DOC = statement('SELECT 1 FROM docs WHERE tenant_id = $1 AND generation = $2 AND leaf_index = $3');
/** A log whose view is behind, and the lease of its share. */
interface LogBehind {
  readonly tenant: TenantId;
  readonly lease: Leases | undefined;
}

/** What became of a portion. */
interface Taken {
  readonly count: number;
  readonly isMore: boolean;
  readonly setAside: readonly SetAside[];
}

const NOTHING: Taken = { count: 0, isMore: false, setAside: [] };

export class IndexFollower {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #nextId: () => string;
  readonly #portion: number;
  readonly #held: HeldShares;
  readonly #terms = new TermsOfViews();

  constructor({ database, clock, nextId, portion = PORTION, held = HeldShares.all() }: FollowerParts) {
    this.#database = database;
    this.#clock = clock;
    this.#nextId = nextId;
    this.#portion = portion;
    this.#held = held;
  }

  /** One portion of each: of the logs that have gone on, of a view that is being made, of one that is going away. */
  async turn(): Promise<FollowerTurn> {
    const nowMs = this.#clock.now();
    const behind = await this.#behind();
    const taken: Taken[] = [];
    for (const log of behind) taken.push(await this.#orFewer((portion) => this.#follow(log, portion, nowMs)));
    await this.#database.inTransaction(PROJECTOR, (transaction) => removeExpiredLetters(transaction, nowMs));
    const built = await this.#orFewer((portion) => this.#build(portion, nowMs));
    const isRemoving = await removeOldPortion(this.#database);
    return {
      isMore: behind.length === TENANTS_MAX || isRemoving || [built, ...taken].some(({ isMore }) => isMore),
      taken: taken.reduce((sum, { count }) => sum + count, 0),
      setAside: taken.flatMap(({ setAside }) => setAside),
    };
  }

  /** Tries an event again that was set aside; gives it as it was. */
  async reprocess(tenant: TenantId, messageId: string): Promise<IndexLetter | undefined> {
    const nowMs = this.#clock.now();
    return this.#database.inTransaction(PROJECTOR, async (transaction) => {
      const locked = await transaction.query(LOCK, [tenant]);
      const letter = await findLetter(transaction, tenant, messageId);
      if (letter === undefined) return undefined;
      const { rows } = await rowsAt(transaction, tenant, [letter.index], PIECE_BYTES);
      const [row] = rows;
      if (row === undefined) return undefined;
      let reason: string | undefined;
      for (const view of locked.map((each) => viewIn(tenant, each))) {
        // One that is being made and has not come so far yet will take it by itself.
        if (view.nextIndex <= row.index || (await this.#hasDoc(transaction, view, row.index))) continue;
        const written = await this.#begin(transaction, view);
        const failed = await addAll(written, [row]);
        reason ??= failed.get(row.index) ?? (await refusalOf(transaction, () => written.write(transaction)));
      }
      if (reason === undefined) await removeLetters(transaction, tenant, [row.index]);
      else await this.#passOver(transaction, tenant, new Map([[row.index, reason]]), nowMs);
      return letter;
    });
  }

  /** Whose logs have gone on. Those who had no view have one now. */
  async #behind(): Promise<LogBehind[]> {
    const leases = this.#held.current();
    const rows = await this.#database.read(PROJECTOR, BEHIND, [
      leases === undefined ? null : [...leases.keys()],
    ]);
    const fresh = rows.filter((row) => row['is_new'] === true).map((row) => textIn(row, 'tenant_id'));
    if (fresh.length > 0)
      await this.#database.inTransaction(PROJECTOR, (transaction) => transaction.change(ADD_VIEWS, [fresh]));
    return rows.map((row) => ({ tenant: textIn(row, 'tenant_id'), lease: leaseOf(row, leases) }));
  }

  /** What the database refuses is tried again with fewer events, until it is one alone. */
  async #orFewer(work: (portion: number) => Promise<Taken>): Promise<Taken> {
    for (let portion = this.#portion; ; portion = Math.ceil(portion / 8)) {
      try {
        return await work(portion);
      } catch (error) {
        if (!isOfEvent(error) || portion === 1) throw error;
      }
    }
  }

  async #follow({ tenant, lease }: LogBehind, portion: number, nowMs: number): Promise<Taken> {
    return this.#database.inTransaction(PROJECTOR, async (transaction) => {
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
      const { failed, nextIndex } = await this.#indexPortion(transaction, view, { end, portion, nowMs });
      const setAside = [...failed].map(([index, reason]) => ({
        tenantId: tenant,
        sequence: index + 1,
        reason,
      }));
      return { count: nextIndex - view.nextIndex, isMore: nextIndex < end, setAside };
    });
  }

  /** Takes the next events of a log into a view, and saves where it ends now. */
  async #indexPortion(
    transaction: Transaction,
    view: View,
    { end, portion, nowMs }: { readonly end: number; readonly portion: number; readonly nowMs: number },
  ): Promise<Indexed> {
    const { tenant, generation, nextIndex: fromIndex } = view;
    const endIndex = Math.min(end, fromIndex + portion);
    const indexed = await this.#indexUpTo(transaction, view, endIndex, portion === 1);
    await this.#passOver(transaction, tenant, indexed.failed, nowMs);
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

  async #passOver(transaction: Transaction, tenant: TenantId, failed: Reasons, nowMs: number): Promise<void> {
    for (const [index, reason] of failed) {
      const messageId = this.#nextId();
      await addLetter(transaction, { tenant, messageId, index, reason, attempts: ATTEMPTS_MAX, nowMs });
    }
  }

  async #hasDoc(transaction: Transaction, { tenant, generation }: View, index: number): Promise<boolean> {
    return (await transaction.query(HAS_DOC, [tenant, generation, index])).length > 0;
  }

  /** A portion of a view that is made anew; with the last one it takes the place of the one that has answered. */
  async #build(portion: number, nowMs: number): Promise<Taken> {
    return this.#database.inTransaction(PROJECTOR, async (transaction) => {
      const leases = this.#held.current();
      const locked = await lockViewIn(transaction, 'Building', leases);
      if (locked === undefined) return NOTHING;
      const held = await stillHeld(transaction, leaseOf(locked, leases));
      if (held?.size === 0) return NOTHING;
      const building = viewIn(textIn(locked, 'tenant_id'), locked);
      const { tenant } = building;
      const [answering] = await transaction.query(LOCK_CURRENT, [tenant]);
      // Somebody is adding to it, and where it ends is not known: next time. Or nothing was ever logged.
      if (answering === undefined && (await this.#isFollowed(transaction, tenant))) return NOTHING;
      const end = answering === undefined ? 0 : numberOf(answering, 'next_index');
      const { indexes, failed, nextIndex } = await this.#indexPortion(transaction, building, {
        end,
        portion,
        nowMs,
      });
      await removeLetters(
        transaction,
        tenant,
        indexes.filter((index) => !failed.has(index)),
      );
      await markBegun(transaction, building, nowMs);
      if (nextIndex >= end) {
        if (answering !== undefined)
          await transaction.change(SET_STATE, [tenant, numberOf(answering, 'generation'), 'Old']);
        await transaction.change(SET_STATE, [tenant, building.generation, 'Current']);
        await markComplete(transaction, building, end, this.#clock.now());
      }
      return { ...NOTHING, isMore: true };
    });
  }

  /** There is a view that answers, or there will be one. */
  async #isFollowed(transaction: Transaction, tenant: TenantId): Promise<boolean> {
    const [head] = await transaction.query(HEAD, [tenant]);
    return head !== undefined && numberOf(head, 'next_index') > 0;
  }
}

/** That of the share in a row. */
function leaseOf(row: Row, leases: Leases | undefined): Leases | undefined {
  const share = numberOf(row, 'share');
  return leases && new Map([[share, leases.get(share) ?? -1]]);
}

/** What was taken of a log. */
interface Indexed {
  readonly indexes: readonly number[];
  readonly failed: Reasons;
  readonly nextIndex: number;
}
