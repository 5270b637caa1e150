// A database as the target of a copy: prepared with the rights of its owner, then written in the serving roles.

import type { Installation } from '../../installation.ts';
import { asHere, CopiedRows } from './copied-rows.ts';
import {
  analyze,
  beginCopy,
  type CopyMark,
  type CopyTargetState,
  emptyTarget,
  markCopy,
  readTarget,
} from './copy-mark.ts';
import { Database } from '../connection/database.ts';
import type { LoginUrls } from '../connection/logins.ts';
import { type DatabaseUrls, provision } from '../schema/provision.ts';

/** No caller waits for it. */
const ANSWER_MS_MAX = 600_000;

export interface CopyTarget extends AsyncDisposable, Pick<CopiedRows, 'lastKey' | 'put' | 'between'> {
  /** Its location, without credentials. */
  readonly place: string;
  /** What it holds. */
  state(): Promise<CopyTargetState>;
  /** Throws StartError if another process has begun to use it. */
  begin(copyId: string, installation: Installation, signer: string | undefined): Promise<void>;
  mark(mark: CopyMark): Promise<void>;
  /** Deletes the copied rows. */
  empty(): Promise<void>;
  /** Updates the statistics of the tables. */
  analyze(): Promise<void>;
  asHere: typeof asHere;
}

/** Throws StartError. */
export async function openCopyTarget(urls: DatabaseUrls): Promise<CopyTarget> {
  const { place } = await provision(urls);
  await using parts = new AsyncDisposableStack();
  const connect = (to: LoginUrls) =>
    parts.use(new Database({ ...to, connectionsMax: 1, answerMsMax: ANSWER_MS_MAX }));
  const [served, owned] = [connect(urls), connect({ url: urls.ownerUrl ?? urls.url })];
  const rows = new CopiedRows(served);
  const opened = parts.move();
  return {
    place,
    state: () => readTarget(served),
    begin: (copyId, installation, signer) => beginCopy(served, copyId, installation, signer),
    mark: (mark) => markCopy(served, mark),
    empty: () => emptyTarget(owned),
    analyze: () => analyze(owned),
    lastKey: (table) => rows.lastKey(table),
    put: (table, portion) => rows.put(table, portion),
    between: (table, after, last, limit) => rows.between(table, after, last, limit),
    asHere,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
