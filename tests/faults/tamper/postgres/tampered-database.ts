// A database that a test tampers with as its superuser, past all rights, and then verifies in the role that only reads:
// both in one transaction, which is rolled back.

import { Client } from 'pg';
import { PastHolds } from '../../../../packages/server/src/holds/past-holds.ts';
import { PastDecisions } from '../../../../packages/server/src/policies/past-decisions.ts';
import { PastPeriods } from '../../../../packages/server/src/policies/past-periods.ts';
import { COLUMN_TYPES } from '../../../../packages/server/src/storage/postgres/connection/column-types.ts';
import { SCHEMA } from '../../../../packages/server/src/storage/postgres/connection/database.ts';
import { checkDatabase } from '../../../../packages/server/src/storage/postgres/fsck/fsck.ts';
import { DATABASE_ROLES } from '../../../../packages/server/src/storage/postgres/schema/rights.ts';
import { ALL_CHECKS, type Check } from '../../../../packages/server/src/storage/fsck/checks.ts';
import { WalkResources } from '../../../../packages/server/src/storage/fsck/entries.ts';
import { readAnchorAt } from '../../../../packages/server/src/storage/anchor/file-anchor.ts';
import type { Heads } from '../../../../packages/server/src/storage/fsck/memory.ts';
import type { TrustedKey } from '../../../../packages/server/src/storage/fsck/notes.ts';
import type { StoreFault } from '../../../../packages/server/src/storage/fsck/store-fault.ts';
import { loadSigningKeys } from '../../../../packages/server/src/storage/keys/signing-key-files.ts';
import type { MadeDatabase } from './made-database.ts';

export type Rows = readonly Readonly<Record<string, unknown>>[];
/** Says something to the database, and gives what it answers. */
export type Say = (sql: string, values?: readonly unknown[]) => Promise<Rows>;

export interface Look {
  readonly without?: Check | readonly Check[] | undefined;
  readonly tenant?: string | undefined;
}

const PAST = {
  newDecisions: () => ({ past: new PastDecisions(), periods: new PastPeriods() }),
  newHolds: () => new PastHolds(),
};
const resources = new WalkResources(ALL_CHECKS);

export class TamperedDatabase implements AsyncDisposable {
  readonly made: MadeDatabase;
  readonly #client: Client;
  readonly #heads: Heads;
  readonly #keys: readonly TrustedKey[];

  private constructor(made: MadeDatabase, client: Client, heads: Heads, keys: readonly TrustedKey[]) {
    this.made = made;
    this.#client = client;
    this.#heads = heads;
    this.#keys = keys;
  }

  static async open(made: MadeDatabase): Promise<TamperedDatabase> {
    const client = new Client({
      connectionString: made.url,
      types: COLUMN_TYPES,
      options: `-c search_path=${SCHEMA} -c bytea_output=hex`,
    });
    await client.connect();
    const own = (await loadSigningKeys(made.directory))!;
    const keys = own.map(({ publicKey }) => ({ publicKey, isGiven: false }));
    const anchor = await readAnchorAt(made.directory);
    return new TamperedDatabase(made, client, anchor.heads(), keys);
  }

  readonly say: Say = async (sql, values = []) =>
    (await this.#client.query<Record<string, unknown>>(sql, [...values])).rows;

  /** What is found after `tamper`; undefined where that says that it could not be done. */
  async faults(
    tamper: (say: Say) => Promise<boolean | void>,
    look: Look = {},
  ): Promise<readonly StoreFault[] | undefined> {
    await this.#client.query('BEGIN');
    try {
      if ((await tamper(this.say)) === false) return undefined;
      return await this.#faultsNow(look);
    } finally {
      await this.#client.query('ROLLBACK');
    }
  }

  async #faultsNow({ without, tenant }: Look): Promise<readonly StoreFault[]> {
    await this.#client.query(`SET LOCAL ROLE ${DATABASE_ROLES.Verifier}`);
    const asked = {
      isDistributed: async () => false,
      query: async ({ name, text }: { name: string; text: string }, values: readonly unknown[] = []) =>
        (await this.#client.query<Record<string, unknown>>({ name, text, values: [...values] })).rows,
    };
    const checks = new Set([...ALL_CHECKS].filter((each) => ![without].flat().includes(each)));
    const own = without === undefined ? { resources } : {};
    const remembered = { anchor: { before: this.#heads, behind: this.#heads }, seen: [] };
    return (await checkDatabase(asked, { keys: this.#keys, remembered, ...PAST, checks, tenant, ...own }))
      .faults;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}
