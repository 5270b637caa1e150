// Brings the views after the log: reads what is there beyond the position, indexes it, and saves the position in the same
// commit. What was killed in between is read again; nothing is in twice, nothing is left out. Old views are removed portion by
// portion in the same turns. A view that is made anew is made portion by portion, behind the one that answers meanwhile.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { BuildStep } from '../../../events/event-index.ts';
import type { FollowerTurn, SetAside } from '../../../followers/follower-work.ts';
import { NO_SUCH_EVENT } from '../../event-index/index-letter.ts';
import { eventIn } from '../../event-index/logged-event.ts';
import { numberOf, readOr, textIn } from '../../rows/columns.ts';
import { inTransaction } from '../connection/database.ts';
import { WriteAheadLog } from '../connection/write-ahead-log.ts';
import type { LetterBox } from './letter-box.ts';
import { IndexWriter } from './index-writer.ts';
import { LoggedEvents, type LoggedRow } from './logged-events.ts';
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
  readonly #portion: number;
  readonly #wal: WriteAheadLog;
  readonly #events: LoggedEvents;
  readonly #writer: IndexWriter;
  readonly #views: Views;
  readonly #terms: TermsOfViews;
  readonly #letters: Pick<LetterBox, 'add'>;
  readonly #position: StatementSync;
  readonly #setMeta: StatementSync;
  readonly #oldDocs: StatementSync;
  readonly #removals: readonly StatementSync[];
  readonly #removeDoc: readonly [StatementSync, StatementSync];

  constructor(journal: DatabaseSync, db: DatabaseSync, letters: Pick<LetterBox, 'add'>, portion = PORTION) {
    this.#db = db;
    this.#portion = portion;
    this.#wal = new WriteAheadLog(db);
    this.#events = new LoggedEvents(journal);
    this.#writer = new IndexWriter(db);
    this.#views = new Views(db);
    this.#terms = new TermsOfViews(journal);
    this.#letters = letters;
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

  /** One portion of each: of the log, and of a view that is going away. */
  turn(): FollowerTurn {
    const setAside: SetAside[] = [];
    const rows = this.#events.beyond(this.#lastEntry(), this.#portion);
    if (rows.length > 0) {
      this.#commit(() => {
        this.#indexAll(rows, setAside);
        const last = rows.at(-1)!;
        this.#setMeta.run('position', last.entry);
        this.#setMeta.run('leaf', this.#events.leafOf(last.entry));
      });
    }
    const isRemoving = this.#remove();
    if (this.#wal.unfoldedPages() >= UNFOLDED_PAGES_MAX) this.#wal.fold();
    return {
      isMore: rows.length === this.#portion || isRemoving,
      taken: rows.length,
      setAside,
    };
  }

  /** A portion of a view that is made anew; with the last one it takes the place of the one that has answered. */
  build(tenant: number): BuildStep {
    const building = this.#views.of(tenant).find(({ state }) => state === 'Building') ?? this.#begin(tenant);
    const current = this.#views.current(tenant);
    const end = current?.nextIndex ?? 0;
    const rows = this.#events.ofTenant(tenant, building.nextIndex, end, this.#portion);
    const nextIndex = rows.length < this.#portion ? end : rows.at(-1)!.index + 1;
    const isDone = nextIndex >= end;
    this.#commit(() => {
      for (const row of rows) this.#indexOrPassOver(building, row);
      this.#views.advance(building.view, nextIndex);
      if (!isDone) return;
      if (current !== undefined) this.#views.setState(current.view, 'Old');
      this.#views.setState(building.view, 'Current');
    });
    return { processedEvents: nextIndex, totalEvents: end, isDone };
  }

  /** Why an event that was passed over cannot be indexed now either; undefined: it can be. */
  indexAgain(tenant: number, index: number): string | undefined {
    const [row] = this.#events.ofTenant(tenant, index, index + 1, 1);
    if (row === undefined) return NO_SUCH_EVENT;
    // One that is being made and has not come so far yet will take it by itself.
    const views = this.#views
      .of(tenant)
      .filter(({ state, nextIndex }) => state !== 'Old' && nextIndex > row.index)
      .filter(({ view }) => !this.#writer.has(view, row));
    let reason: string | undefined;
    this.#commit(() => {
      for (const view of views) reason = this.#index(view, row) ?? reason;
    });
    return reason;
  }

  #begin(tenant: number): View {
    let view: View | undefined;
    this.#commit(() => {
      view = this.#views.add(tenant, 'Building');
    });
    return view!;
  }

  /** The last row of the log that has been looked at. */
  #lastEntry(): number {
    const row = this.#position.get();
    return row === undefined ? 0 : numberOf(row, 'value');
  }

  #indexAll(rows: readonly LoggedRow[], setAside: SetAside[]): void {
    const views = new Map<number, View>();
    const ends = new Map<number, number>();
    for (const row of rows) {
      let view = views.get(row.tenant);
      if (view === undefined) {
        view = this.#views.current(row.tenant) ?? this.#views.add(row.tenant, 'Current');
        views.set(row.tenant, view);
      }
      const passedOver = this.#indexOrPassOver(view, row);
      if (passedOver !== undefined) setAside.push(passedOver);
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

  /** The letter is stored before the position behind the event is. */
  #indexOrPassOver(view: View, row: LoggedRow): SetAside | undefined {
    const reason = this.#index(view, row);
    if (reason === undefined) return undefined;
    const tenantId = readOr(() => textIn(row.row, 'tenant_id'), '');
    this.#letters.add({ tenant: tenantId, index: row.index, reason, attempts: ATTEMPTS_MAX });
    return { tenantId, sequence: row.index + 1, reason };
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
