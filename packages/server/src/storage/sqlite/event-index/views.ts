// The views of views.db: which one answers for a tenant, which one is being made in its place, which one is going away.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { TermMemory, ViewTerms } from '../../event-index/terms.ts';

export type ViewState = 'Building' | 'Current' | 'Old';

export interface View {
  readonly view: number;
  /** The tenant's number in journal.db. */
  readonly tenant: number;
  readonly generation: number;
  readonly state: ViewState;
  /** The first index that is not in it. */
  readonly nextIndex: number;
}

/** A view, and how its terms are written. */
export interface OpenView {
  readonly view: number;
  /** The tenant's number in journal.db. */
  readonly tenant: number;
  readonly terms: ViewTerms;
}

export class Views {
  readonly #of: StatementSync;
  readonly #inState: StatementSync;
  readonly #insert: StatementSync;
  readonly #advance: StatementSync;
  readonly #setState: StatementSync;
  readonly #remove: StatementSync;

  constructor(db: DatabaseSync) {
    const columns = 'view, tenant, generation, state, next_index';
    this.#of = db.prepare(`SELECT ${columns} FROM views WHERE tenant = ? ORDER BY generation DESC`);
    this.#inState = db.prepare(`SELECT ${columns} FROM views WHERE state = ? ORDER BY view LIMIT 1`);
    this.#insert = db.prepare(
      'INSERT INTO views (tenant, generation, state, next_index) VALUES (?, ?, ?, 0) RETURNING view',
    );
    this.#advance = db.prepare('UPDATE views SET next_index = ? WHERE view = ?');
    this.#setState = db.prepare('UPDATE views SET state = ? WHERE view = ?');
    this.#remove = db.prepare('DELETE FROM views WHERE view = ?');
  }

  /** Newest first. */
  of(tenant: number): View[] {
    return this.#of.all(tenant).map(viewIn);
  }

  current(tenant: number): View | undefined {
    return this.of(tenant).find(({ state }) => state === 'Current');
  }

  /** Any one that is in this state. */
  any(state: ViewState): View | undefined {
    const row = this.#inState.get(state);
    return row === undefined ? undefined : viewIn(row);
  }

  /** One that is being made comes after all others; one that answers first, before what is being made in its place. */
  add(tenant: number, state: 'Building' | 'Current'): View {
    const views = this.of(tenant);
    const generation =
      state === 'Building' ? (views[0]?.generation ?? 1) + 1 : (views.at(-1)?.generation ?? 2) - 1;
    const view = numberOf(this.#insert.get(tenant, generation, state), 'view');
    return { view, tenant, generation, state, nextIndex: 0 };
  }

  advance(view: number, nextIndex: number): void {
    this.#advance.run(nextIndex, view);
  }

  setState(view: number, state: ViewState): void {
    this.#setState.run(state, view);
  }

  remove(view: number): void {
    this.#remove.run(view);
  }
}

function viewIn(row: Readonly<Record<string, unknown>>): View {
  const state = textIn(row, 'state');
  if (state !== 'Building' && state !== 'Current' && state !== 'Old') throw new Error(`a view is ${state}`);
  return {
    view: numberOf(row, 'view'),
    tenant: numberOf(row, 'tenant'),
    generation: numberOf(row, 'generation'),
    state,
    nextIndex: numberOf(row, 'next_index'),
  };
}

/** The terms of views, whose secrets are those of their tenants in journal.db. */
export class TermsOfViews {
  readonly #secret: StatementSync;
  readonly #remembered = new Map<number, ViewTerms>();
  #memory = new TermMemory();

  constructor(journal: DatabaseSync) {
    this.#secret = journal.prepare('SELECT fingerprint_key FROM tenants WHERE tenant = ?');
  }

  open({ view, tenant }: Pick<View, 'view' | 'tenant'>): OpenView {
    if (this.#memory.isFull) {
      this.#remembered.clear();
      this.#memory = new TermMemory();
    }
    let terms = this.#remembered.get(view);
    if (terms === undefined) {
      terms = new ViewTerms(view, blobOf(this.#secret.get(tenant), 'fingerprint_key'), this.#memory);
      this.#remembered.set(view, terms);
    }
    return { view, tenant, terms };
  }
}
