// Which view answers for a tenant, which one is being made in its place, which one is going away. Who adds to a view has
// locked its row, so that any number of nodes follow one log and nothing is in twice.

import { hash } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';
import { TermMemory, ViewTerms } from '../../event-index/terms.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { type Row, statement, type Transaction } from '../connection/database.ts';
import type { Leases } from '../nodes/held-shares.ts';

export interface View {
  readonly tenant: TenantId;
  readonly generation: number;
  /** The first index that is not in it. */
  readonly nextIndex: number;
  readonly largeDocs: number;
}

/** A view, and how its terms are written. */
export interface OpenView extends View {
  readonly terms: ViewTerms;
}

/** Of a view. */
export const VIEW_COLUMNS = 'views.generation, views.next_index, views.large_docs';

export function viewIn(tenant: TenantId, row: Row): View {
  return {
    tenant,
    generation: numberOf(row, 'generation'),
    nextIndex: numberOf(row, 'next_index'),
    largeDocs: numberOf(row, 'large_docs'),
  };
}

const TRIED_MAX = 100;

// Found first and locked after that, one by one: a distributed database locks rows only where it is told the tenant.
const IN_STATE = statement(
  `SELECT views.tenant_id, views.generation, heads.share FROM views JOIN heads ON heads.tenant_id = views.tenant_id
   WHERE views.state = $1 AND ($2::smallint[] IS NULL OR heads.share = ANY($2)) ORDER BY views.tenant_id LIMIT ${TRIED_MAX}`,
);
const LOCK_IN_STATE = statement(
  `SELECT tenant_id, ${VIEW_COLUMNS} FROM views WHERE tenant_id = $1 AND generation = $2 AND state = $3
   FOR UPDATE SKIP LOCKED`,
);

/** The row of one that nobody else has, with its share: one of these, if some are named. */
export async function lockViewIn(
  transaction: Transaction,
  state: 'Building' | 'Old',
  leases?: Leases,
): Promise<Row | undefined> {
  const shares = leases === undefined ? null : [...leases.keys()];
  for (const found of await transaction.query(IN_STATE, [state, shares])) {
    const own = [textIn(found, 'tenant_id'), numberOf(found, 'generation'), state];
    const [locked] = await transaction.query(LOCK_IN_STATE, own);
    if (locked !== undefined) return { ...locked, share: found['share'] };
  }
  return undefined;
}

/** So many bits of a hash: views that share a number share no row, and are told apart by tenant and generation. */
const NUMBER_BYTES = 3;

/** What stands in front of the terms of a view. */
function numberOfView({ tenant, generation }: View): number {
  return hash('sha256', `${tenant} ${generation}`, 'buffer').readUIntBE(0, NUMBER_BYTES);
}

const SECRET = statement('SELECT tenant_id, fingerprint_key FROM tenants WHERE tenant_id = $1');
const SECRETS = statement('SELECT tenant_id, fingerprint_key FROM tenants WHERE tenant_id = ANY($1::text[])');

/** The terms of views, whose secrets are those of their tenants. */
export class TermsOfViews {
  readonly #remembered = new Map<string, ViewTerms>();
  #memory = new TermMemory();

  async open(transaction: Transaction, view: View): Promise<OpenView> {
    return (await this.#open([view], () => transaction.query(SECRET, [view.tenant])))[0]!;
  }

  /** Not where tables are distributed. */
  async openAll(transaction: Transaction, views: readonly View[]): Promise<OpenView[]> {
    return this.#open(views, (tenants) => transaction.query(SECRETS, [tenants]));
  }

  async #open(
    views: readonly View[],
    readSecrets: (tenants: readonly TenantId[]) => Promise<Row[]>,
  ): Promise<OpenView[]> {
    if (this.#memory.isFull) {
      this.#remembered.clear();
      this.#memory = new TermMemory();
    }
    // What is found now is kept: it may be forgotten by another while the rest is read.
    const known = views.map((view) => this.#remembered.get(nameOf(view)));
    const unknown = views.filter((_, i) => known[i] === undefined).map(({ tenant }) => tenant);
    const rows = unknown.length === 0 ? [] : await readSecrets(unknown);
    const rowOf = new Map(rows.map((row) => [textIn(row, 'tenant_id'), row]));
    return views.map((view, i) => ({
      ...view,
      terms: known[i] ?? this.#remember(view, rowOf.get(view.tenant)),
    }));
  }

  #remember(view: View, row: Row | undefined): ViewTerms {
    const terms = new ViewTerms(numberOfView(view), blobOf(row, 'fingerprint_key'), this.#memory);
    this.#remembered.set(nameOf(view), terms);
    return terms;
  }
}

function nameOf({ tenant, generation }: View): string {
  return `${tenant} ${generation}`;
}
