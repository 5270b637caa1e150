// Brings the views after the log: reads what is there beyond the position, indexes it, and saves the position in the same
// commit. What was killed in between is read again; nothing is in twice, nothing is left out. In the same turns views are
// made anew, behind the ones that answer meanwhile, old ones are removed portion by portion, and dead letters whose time is
// over are let go.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Rebuild } from '../../../admin/rebuild.ts';
import type { FollowerTurn, SetAside } from '../../../followers/follower-work.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { eventIn } from '../../event-index/logged-event.ts';
import { numberOf, readOr, textIn } from '../../rows/columns.ts';
import { inTransaction } from '../database.ts';
import { WriteAheadLog } from '../write-ahead-log.ts';
import { DeadLetters, type IndexLetter } from './dead-letters.ts';
import { IndexWriter } from './index-writer.ts';
import { LoggedEvents, type LoggedRow } from './logged-events.ts';
import { type RebuildRequest, Rebuilds } from './rebuilds.ts';
import { TermsOfViews, type View, Views } from './views.ts';

/** At most: large enough that a commit costs little of it, small enough to be done within a second. */
const PORTION = 4000;
const REMOVED_PORTION = 500;
/** Some tens of megabytes: the same pages are written again and again, and are folded once. */
const UNFOLDED_PAGES_MAX = 4000;
/** A failure that comes back so often is one of the event itself. */
const ATTEMPTS_MAX = 3;

export class IndexFollower {
  readonly #db: DatabaseSync;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #portion: number;
  readonly #wal: WriteAheadLog;
  readonly #events: LoggedEvents;
  readonly #writer: IndexWriter;
  readonly #views: Views;
  readonly #terms: TermsOfViews;
  readonly #letters: DeadLetters;
  readonly #rebuilds: Rebuilds;
  readonly #position: StatementSync;
  readonly #setMeta: StatementSync;
  readonly #oldDocs: StatementSync;
  readonly #removals: readonly StatementSync[];
  readonly #removeDoc: readonly [StatementSync, StatementSync];

  /** By the clock the end of a rebuild is told: a turn may take a second. */
  constructor(
    journal: DatabaseSync,
    db: DatabaseSync,
    { nextId, clock }: { readonly nextId: () => string; readonly clock: Pick<Clock, 'now'> },
    portion = PORTION,
  ) {
    this.#db = db;
    this.#clock = clock;
    this.#portion = portion;
    this.#wal = new WriteAheadLog(db);
    this.#events = new LoggedEvents(journal);
    this.#writer = new IndexWriter(db);
    this.#views = new Views(db);
    this.#terms = new TermsOfViews(journal);
    this.#letters = new DeadLetters(db, nextId);
    this.#rebuilds = new Rebuilds(db);
    this.#position = db.prepare("SELECT value FROM meta WHERE name = 'position'");
    this.#setMeta = db.prepare(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    );
    this.#oldDocs = db.prepare('SELECT doc FROM docs INDEXED BY docs_by_time WHERE view = ? LIMIT ?');
    this.#removeDoc = [
      db.prepare('DELETE FROM words WHERE rowid = ?'),
      db.prepare('DELETE FROM docs WHERE doc = ?'),
    ];
    this.#removals = ['counts', 'keys'].map((table) => db.prepare(`DELETE FROM ${table} WHERE view = ?`));
  }

  /** One portion of each: of the log, of a view that is being made, of one that is going away. */
  turn(nowMs: number): FollowerTurn {
    const setAside: SetAside[] = [];
    const rows = this.#events.beyond(this.#lastEntry(), this.#portion);
    if (rows.length > 0) {
      this.#commit(() => {
        this.#indexAll(rows, nowMs, setAside);
        const last = rows.at(-1)!;
        this.#setMeta.run('position', last.entry);
        this.#setMeta.run('leaf', this.#events.leafOf(last.entry));
      });
    }
    this.#letters.removeExpired(nowMs);
    const isBuilding = this.#build(nowMs);
    const isRemoving = this.#remove();
    if (this.#wal.unfoldedPages() >= UNFOLDED_PAGES_MAX) this.#wal.fold();
    return {
      isMore: rows.length === this.#portion || isBuilding || isRemoving,
      taken: rows.length,
      setAside,
    };
  }

  /** The view of a tenant is made anew; undefined while that is going on already. */
  beginRebuild(tenant: number, request: RebuildRequest): Rebuild | undefined {
    if (this.#views.of(tenant).some(({ state }) => state === 'Building')) return undefined;
    this.#commit(() => {
      const { view } = this.#views.add(tenant, 'Building');
      this.#rebuilds.add(tenant, view, request);
    });
    return this.#rebuilds.find(tenant, request.operationId);
  }

  findRebuild(tenant: number, operationId: string): Rebuild | undefined {
    return this.#rebuilds.find(tenant, operationId);
  }

  /** Events that were set aside. */
  get letters(): Pick<DeadLetters, 'list' | 'count' | 'countOfAll'> {
    return this.#letters;
  }

  /** Tries one again; gives it as it was. */
  reprocess(tenant: number, messageId: string, nowMs: number): IndexLetter | undefined {
    const letter = this.#letters.find(tenant, messageId);
    const row = letter === undefined ? undefined : this.#events.one(letter.entry);
    if (letter === undefined || row === undefined) return undefined;
    // One that is being made and has not come so far yet will take it by itself.
    const views = this.#views
      .of(tenant)
      .filter(({ state, nextIndex }) => state !== 'Old' && nextIndex > row.index)
      .filter(({ view }) => !this.#writer.has(view, row));
    this.#commit(() => {
      const reasons = views.map((view) => this.#index(view, row));
      const reason = reasons.find((each) => each !== undefined);
      if (reason === undefined) this.#letters.remove(letter.entry);
      else this.#passOver(row, reason, nowMs);
    });
    return letter;
  }

  /** The last row of the log that has been looked at. */
  #lastEntry(): number {
    const row = this.#position.get();
    return row === undefined ? 0 : numberOf(row, 'value');
  }

  #indexAll(rows: readonly LoggedRow[], nowMs: number, setAside: SetAside[]): void {
    const views = new Map<number, View>();
    const ends = new Map<number, number>();
    for (const row of rows) {
      let view = views.get(row.tenant);
      if (view === undefined) {
        view = this.#views.current(row.tenant) ?? this.#views.add(row.tenant, 'Current');
        views.set(row.tenant, view);
      }
      const reason = this.#index(view, row);
      if (reason !== undefined) {
        this.#passOver(row, reason, nowMs);
        const tenantId = readOr(() => textIn(row.row, 'tenant_id'), '');
        setAside.push({ tenantId, sequence: row.index + 1, reason });
      }
      ends.set(view.view, Math.max(ends.get(view.view) ?? 0, row.index + 1));
    }
    for (const [view, end] of ends) if (end > 0) this.#views.advance(view, end);
  }

  /** Why it cannot be; undefined when it is in, or has no content to be found by. */
  #index(view: View, row: LoggedRow): string | undefined {
    for (let attempt = 1; ; attempt++) {
      try {
        const event = eventIn(row);
        if (event !== undefined) {
          this.#writer.add(this.#terms.open(view), { entry: row.entry, index: row.index, event });
        }
        return undefined;
      } catch (error) {
        // A database that fails is no fault of the event.
        if (isOfStore(error)) throw error;
        if (attempt === ATTEMPTS_MAX) return error instanceof Error ? error.message : String(error);
      }
    }
  }

  #passOver({ tenant, entry }: LoggedRow, reason: string, nowMs: number): void {
    this.#letters.add({ tenant, entry, reason, attempts: ATTEMPTS_MAX, nowMs });
  }

  /** True when there is more of it to do. */
  #build(nowMs: number): boolean {
    const building = this.#views.any('Building');
    if (building === undefined) return false;
    const current = this.#views.current(building.tenant);
    const end = current?.nextIndex ?? 0;
    const rows = this.#events.ofTenant(building.tenant, building.nextIndex, end, this.#portion);
    this.#commit(() => {
      for (const row of rows) {
        const reason = this.#index(building, row);
        if (reason === undefined) this.#letters.remove(row.entry);
        else this.#passOver(row, reason, nowMs);
      }
      const nextIndex = rows.length < this.#portion ? end : rows.at(-1)!.index + 1;
      this.#views.advance(building.view, nextIndex);
      this.#rebuilds.begin(building.view, nowMs);
      if (nextIndex < end) return;
      if (current !== undefined) this.#views.setState(current.view, 'Old');
      this.#views.setState(building.view, 'Current');
      this.#rebuilds.complete(building.view, end, this.#clock.now());
    });
    return true;
  }

  #remove(): boolean {
    const old = this.#views.any('Old');
    if (old === undefined) return false;
    const docs = this.#oldDocs.all(old.view, REMOVED_PORTION).map((row) => numberOf(row, 'doc'));
    this.#commit(() => {
      for (const doc of docs) for (const statement of this.#removeDoc) statement.run(doc);
      if (docs.length === REMOVED_PORTION) return;
      for (const statement of this.#removals) statement.run(old.view);
      this.#views.remove(old.view);
    });
    return true;
  }

  #commit(work: () => void): void {
    try {
      inTransaction(this.#db, () => {
        work();
        this.#writer.finish();
      });
    } catch (error) {
      this.#writer.forget();
      throw error;
    }
  }
}

const SQLITE_CONSTRAINT = 19;

/** A row that another one stands in the way of is one of the event. */
function isOfStore(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return typeof error.errcode !== 'number' || (error.errcode & 0xff) !== SQLITE_CONSTRAINT;
}
