// Jobs: work that must survive the process that was asked for it. A job is stored before it is acknowledged, is claimed by
// one holder at a time under a lease, and ends as done or as a dead letter. Every node sees all of them. The conformance
// suite in storage/conformance checks that each backend keeps these promises.

import type { Classification, OperationName, TenantId } from '@tallystick/contract';
import type { RowsRequest } from '../paging.ts';

/** What a job is about; each has one handler. */
export type JobKind = 'IndexEvent' | 'Rebuild' | 'Verification' | `Followed.${string}`;

export interface NewJob {
  readonly tenant: TenantId;
  /** Chosen by the caller: a job that is there under this id already is not enqueued again. */
  readonly jobId: string;
  readonly kind: JobKind;
  /** Jobs of a tenant take turns by lane; undefined: the tenant has one lane. */
  readonly lane?: string | undefined;
  /** While a job of this kind with this key is not done, another one is refused. */
  readonly uniqueKey?: string | undefined;
  /** Not before so much time has passed. */
  readonly dueInMs?: number | undefined;
  /** What the handler needs: JSON, ids and numbers only. */
  readonly body: string;
  /** The idempotency key of the request that asks for it. */
  readonly once?: JobKey | undefined;
  /** Stored as a dead letter, for this reason after so many attempts. */
  readonly dead?: { readonly reason: string; readonly attempts: number } | undefined;
}

/** A job that a change causes, in the same commit. */
export type CausedJob = Pick<NewJob, 'jobId' | 'kind' | 'lane' | 'dueInMs' | 'body'>;

export interface JobKey {
  readonly operation: OperationName;
  readonly key: string;
  readonly fingerprint: Uint8Array;
  readonly classification: Classification;
  readonly expiresAtMs: number;
  /** What the first request was answered, as JSON. */
  readonly answer: string;
}

/** How many jobs of this kind a tenant may have; undefined: any number. */
export interface JobLimits {
  /** That wait to be done. */
  readonly waitingMax?: number | undefined;
  /** That are done and are kept to be looked at. The oldest go first. */
  readonly doneMax?: number | undefined;
}

export type JobState = 'Later' | 'Waiting' | 'Held' | 'Done' | 'Dead';

export interface Job {
  readonly tenant: TenantId;
  readonly jobId: string;
  readonly kind: JobKind;
  readonly lane: string;
  readonly body: string;
  readonly state: JobState;
  /** How often it was tried, this time included, since it was enqueued or tried again by hand. */
  readonly attempts: number;
  /** As its handler told it last. */
  readonly progress: string | undefined;
  /** What came of it; undefined until it is done. */
  readonly result: string | undefined;
  /** Why it failed last. */
  readonly reason: string | undefined;
  readonly createdAtMs: number;
  /** When it was claimed first. */
  readonly startedAtMs: number | undefined;
  readonly firstFailedAtMs: number | undefined;
  readonly lastFailedAtMs: number | undefined;
  /** When it was done. */
  readonly endedAtMs: number | undefined;
}

export type Enqueued =
  | { readonly status: 'Enqueued'; readonly job: Job }
  /** It is there under this id, or it is a dead letter that has failed again. */
  | { readonly status: 'Known'; readonly job: Job }
  /** The idempotency key was used before, for the same request or for another one. */
  | { readonly status: 'KeyUsed'; readonly used: UsedJobKey }
  /** One with the same unique key is not done yet. */
  | { readonly status: 'Exists' }
  /** As many wait as may. */
  | { readonly status: 'Full' };

/** What an idempotency key was used for. */
export interface UsedJobKey extends JobKey {
  readonly job: Job;
}

/** A job as its holder has it. */
export interface Claim {
  readonly job: Job;
  /** Rises with every claim: what was begun under an earlier one is not saved any more. */
  readonly token: number;
}

export type ClaimRef = Pick<Job, 'tenant' | 'jobId'> & Pick<Claim, 'token'>;

export type JobOutcome =
  | {
      readonly status: 'Done';
      readonly result?: string | undefined;
      /** It is kept to be looked at for so long; undefined: it goes at once. */
      readonly keepMs?: number | undefined;
      /** Jobs that it leads to, in the same commit. */
      readonly jobs?: readonly NewJob[] | undefined;
    }
  /** To be tried again, because it failed. */
  | { readonly status: 'Failed'; readonly reason: string; readonly againInMs: number }
  /** To be tried again, and this time does not count. */
  | { readonly status: 'PutOff'; readonly inMs: number }
  /** Out of attempts: it waits for somebody to try it again, until its time is over. */
  | { readonly status: 'Dead'; readonly reason: string };

export interface Finished extends ClaimRef {
  readonly outcome: JobOutcome;
}

export interface ClaimRequest {
  readonly kind: JobKind;
  readonly max: number;
  /** No more than so many of one lane are held at a time, by all holders together. */
  readonly perLane: number;
  readonly leaseMs: number;
}

/** Which letters are asked for: those that are held, and those that are being tried again. */
export interface LetterStates {
  readonly isHeld: boolean;
  readonly isTried: boolean;
}

export type Retried =
  | { readonly status: 'Retried' }
  | { readonly status: 'KeyUsed'; readonly used: UsedJobKey }
  /** There is no such letter, or it is being tried. */
  | { readonly status: 'Unknown' };

/** The jobs of one tenant. */
export interface TenantJobs {
  /** Resolves when it is durable. */
  enqueue(job: Omit<NewJob, 'tenant'>, limits?: JobLimits): Promise<Enqueued>;
  find(jobId: string): Promise<Job | undefined>;
  /** Unless it has expired by `steadyNowMs`. */
  usedKey(operation: OperationName, key: string, steadyNowMs: number): Promise<UsedJobKey | undefined>;
  letters(request: RowsRequest & LetterStates): Promise<Job[]>;
  letterCount(states: LetterStates): Promise<number>;
  /** Lets go of those of a kind that have not failed since then. */
  removeLetters(kind: JobKind, failedBeforeMs: number): Promise<number>;
  /** Tries a dead letter again. The key of the request is used up by it, and kept for its time. */
  retry(jobId: string, once?: JobKey): Promise<Retried>;
}

export interface WorkStore {
  forTenant(tenant: TenantId): TenantJobs;
  /**
   * Jobs that are due, each held by the caller from now on until its lease ends. Tenants take turns, and so do the lanes of a
   * tenant: one that has very many jobs keeps nobody else waiting.
   */
  claim(request: ClaimRequest): Promise<Claim[]>;
  /** For each, whether it is still held: then its lease is so long again, and its progress is saved. */
  renew(
    claims: readonly (ClaimRef & { readonly progress?: string | undefined })[],
    leaseMs: number,
  ): Promise<boolean[]>;
  /** All in one commit. For each, whether it was still held: what became of the others is decided by another holder. */
  finish(finished: readonly Finished[]): Promise<boolean[]>;
  letterCountOfAll(): Promise<number>;
  /** Removes a portion of the jobs that were kept long enough; true when there may be more. */
  sweep(): Promise<boolean>;
}
