// Jobs: work that must survive the process that was asked for it. A job is stored before it is acknowledged, is claimed by
// one holder at a time under a lease, and ends as done or as a dead letter. Every node sees all of them. The conformance
// suite in storage/conformance checks that each backend keeps these promises.

import type { Classification, OperationName, TenantId } from '@tallystick/contract';
import type { RowsRequest } from '../paging.ts';
import type {
  Lane,
  LaneClosing,
  LaneKind,
  LaneLimit,
  LaneNews,
  LaneOpening,
  LaneRef,
  Parking,
} from './lanes.ts';

/** The kinds of jobs; each has one handler. */
export type JobKind =
  | 'Answer'
  | 'Delivery'
  | 'Erasure'
  | 'Export'
  | 'ExportDelivery'
  | 'Gate'
  | 'HoldCount'
  | 'IndexEvent'
  | 'Probe'
  | 'Purge'
  | 'Rebuild'
  | 'Recovery'
  | 'Redaction'
  | 'ScheduledExport'
  | 'Verification';

export interface NewJob {
  readonly tenant: TenantId;
  /** Chosen by the caller: a second job with this id is not stored. */
  readonly jobId: string;
  readonly kind: JobKind;
  /** Jobs of a tenant take turns by lane; undefined: the tenant has one lane. */
  readonly lane?: string | undefined;
  /** While a job of this kind with this key is not done, another one is refused. */
  readonly uniqueKey?: string | undefined;
  /** Another one is refused for as long as this one is kept, also when it is done. */
  readonly keepsKey?: true | undefined;
  /** Above 0. Jobs of a lane that have a place are done one at a time, over all nodes, the lowest place first. */
  readonly place?: number | undefined;
  /** It is not claimed before this time has passed. */
  readonly dueInMs?: number | undefined;
  /** The input of the handler: JSON with ids and numbers only. */
  readonly body: string;
  /** The idempotency key of the request that asks for it. */
  readonly once?: JobKey | undefined;
  /** If set, it is stored as a dead letter with this reason and this number of attempts. */
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
  /** The answer to the first request, as JSON. */
  readonly answer: string;
}

/** How many jobs of this kind a tenant may have; undefined: any number. */
export interface JobLimits {
  /** Waiting. */
  readonly waitingMax?: number | undefined;
  /** Done and kept to be read. The oldest are removed first. */
  readonly doneMax?: number | undefined;
}

/** `Parked`: its lane is closed. */
export type JobState = 'Later' | 'Waiting' | 'Parked' | 'Held' | 'Done' | 'Dead';

export interface Job {
  readonly tenant: TenantId;
  readonly jobId: string;
  readonly kind: JobKind;
  readonly lane: string;
  readonly body: string;
  readonly state: JobState;
  /** How often it was tried, this time included, since it was enqueued or tried again by hand. */
  readonly attempts: number;
  /** The last progress that its handler reported. */
  readonly progress: string | undefined;
  /** What others have answered while it was done. It may repeat content, so it goes where content is removed: `forgetHeard`. */
  readonly heard: string | undefined;
  /** Undefined until it is done. */
  readonly result: string | undefined;
  /** The reason of its last failure. */
  readonly reason: string | undefined;
  readonly createdAtMs: number;
  /** When it was claimed first. */
  readonly startedAtMs: number | undefined;
  readonly firstFailedAtMs: number | undefined;
  readonly lastFailedAtMs: number | undefined;
  /** When it was done. */
  readonly endedAtMs: number | undefined;
  /** `Later`: when it is due. `Held`: the end of its lease. */
  readonly wakeAtMs: number;
  /** Among the dead letters, also while it is tried again. */
  readonly isLetter: boolean;
  /** When it is removed. */
  readonly expiresAtMs: number | undefined;
}

export type Enqueued =
  | { readonly status: 'Enqueued'; readonly job: Job }
  /** A job with this id exists, or a dead letter has failed again. */
  | { readonly status: 'Known'; readonly job: Job }
  | KeyUsed
  /** A job with the same unique key is not done yet. */
  | { readonly status: 'Exists' }
  /** The limit of waiting jobs is reached. */
  | { readonly status: 'Full' };

/** The idempotency key was used before, for the same request or for another one. */
export interface KeyUsed {
  readonly status: 'KeyUsed';
  readonly used: UsedJobKey;
}

/** The job that an idempotency key was used for. */
export interface UsedJobKey extends JobKey {
  readonly job: Job;
}

/** A job as its holder has it. */
export interface Claim {
  readonly job: Job;
  /** Rises with every claim: results of an earlier claim are not saved. */
  readonly token: number;
}

export type ClaimRef = Pick<Job, 'tenant' | 'jobId'> & Pick<Claim, 'token'>;

/** All of it is saved in one commit, if the job is still held. */
export type JobOutcome = JobEnd & {
  /** Replaces what its handler has reported last; a job that is removed, or put off, has none. */
  readonly progress?: string | undefined;
  /** Replaces what was heard before, unless `forgetHeard` came while it was held; a job that is removed, or put off, has none. */
  readonly heard?: string | undefined;
  readonly lanes?: readonly LaneNews[] | undefined;
};

type JobEnd =
  | {
      readonly status: 'Done';
      readonly result?: string | undefined;
      /** How long it is kept to be read; undefined: it is removed at once. */
      readonly keepMs?: number | undefined;
      /** Jobs to enqueue in the same commit. */
      readonly jobs?: readonly NewJob[] | undefined;
    }
  /** It failed and is tried again. */
  | { readonly status: 'Failed'; readonly reason: string; readonly againInMs: number }
  /** It is tried again, and this attempt does not count. */
  | { readonly status: 'PutOff'; readonly forMs?: number | undefined }
  /** Out of attempts: it is kept as a dead letter until an operator retries it or it expires. */
  | {
      readonly status: 'Dead';
      readonly reason: string;
      /** How long it is kept; undefined: as long as dead letters are. */
      readonly keepMs?: number | undefined;
    };

export interface Finished extends ClaimRef {
  readonly outcome: JobOutcome;
}

export interface ClaimRequest {
  readonly kind: JobKind;
  readonly max: number;
  /** The limit of held jobs in one lane, over all nodes. */
  readonly perLane: number;
  readonly leaseMs: number;
  /** The limit of held jobs of one tenant, over all nodes; undefined: there is none. */
  readonly perTenant?: number | undefined;
  /** Of each lane that `laneLimits` does not name; no other limit is raised by either. */
  readonly otherLanesMax?: number | undefined;
  readonly laneLimits?: readonly LaneLimit[] | undefined;
  /** Undefined: jobs of a closed lane wait for ever. */
  readonly parking?: Parking | undefined;
}

/** Selects dead letters: those that wait, and those that are being retried. */
export interface LetterStates {
  readonly isWaiting: boolean;
  readonly isRetried: boolean;
  readonly kinds: readonly JobKind[];
  /** Undefined: of all lanes. */
  readonly lane?: string | undefined;
}

export type Retried =
  | { readonly status: 'Retried' }
  | KeyUsed
  /** There is no such letter, or it is being tried. */
  | { readonly status: 'Unknown' };

/** The jobs of one tenant. */
export interface TenantJobs {
  /** Resolves when it is durable. */
  enqueue(job: Omit<NewJob, 'tenant'>, limits?: JobLimits): Promise<Enqueued>;
  /** All in one commit; a dead letter with the unique key of one begins again in its place. Returns how many there are to do now. */
  enqueueAll(jobs: readonly Omit<NewJob, 'tenant'>[]): Promise<number>;
  find(jobId: string): Promise<Job | undefined>;
  /** While a job of the kind with this key is not done, or keeps its key. */
  findUnique(kind: JobKind, uniqueKey: string): Promise<Job | undefined>;
  /** By the order of their ids. */
  jobsOfLane(
    request: RowsRequest & LaneRef & { readonly states?: readonly JobState[] | undefined },
  ): Promise<Job[]>;
  /** One beyond the exact totals of lists, if there are more. */
  jobCountOfLane(request: LaneRef & { readonly states?: readonly JobState[] | undefined }): Promise<number>;
  /** In the order in which they are named. */
  lanes(kind: LaneKind, lanes: readonly string[]): Promise<Lane[]>;
  /** Whether it was as the news expects. */
  changeLane(lane: LaneRef, news: LaneOpening | LaneClosing): Promise<boolean>;
  /** Removes a portion of the jobs of a lane that nobody holds, and the lane with the last one; true when there may be more. */
  removeLane(lane: LaneRef): Promise<boolean>;
  /**
   * Forgets what jobs of a kind have heard, a portion at a time; true when there may be more. What those that are held hear until
   * they are claimed again is not kept either: they may have read what is removed now.
   */
  forgetHeard(kind: JobKind): Promise<boolean>;
  /** Begins again, with its first attempt, whatever became of it. One that is held is taken from its holder, whose outcome does not count. */
  doAgain(jobId: string, once?: JobKey): Promise<Retried>;
  /** Unless it has expired by `steadyNowMs`. */
  usedKey(operation: OperationName, key: string, steadyNowMs: number): Promise<UsedJobKey | undefined>;
  /** A portion of the keys whose windows end earlier is not used any more; true when there may be more. */
  endKeyWindows(beforeMs: number): Promise<boolean>;
  letters(request: RowsRequest & LetterStates): Promise<Job[]>;
  /** One beyond the exact totals of lists, if there are more. */
  letterCount(states: LetterStates): Promise<number>;
  /** All there are, of every kind. */
  letterCountOfTenant(): Promise<number>;
  backlog(kind: JobKind): Promise<Backlog>;
  /** Removes a portion of the letters of a kind that have not failed since `failedBeforeMs`; returns how many. */
  removeLetters(kind: JobKind, failedBeforeMs: number): Promise<number>;
  /** Retries a dead letter, and stores the idempotency key of the request with it. */
  retry(jobId: string, once?: JobKey): Promise<Retried>;
  /** Retries a portion of the dead letters of these kinds that wait, of one lane or of all; returns how many. */
  retryAll(kinds: readonly JobKind[], lane: string | undefined): Promise<number>;
}

/** What is left to do of one kind of jobs. */
export interface Backlog {
  /** Not done: also those that are not due, or held, or whose lane is closed. */
  readonly open: number;
  /** Since when the first one that is due waits for a claim. */
  readonly waitingSinceMs: number | undefined;
  /** By the clock of the store. */
  readonly nowMs: number;
  /** How many lanes are closed, by their notes. */
  readonly closedLanes: readonly { readonly note: string; readonly count: number }[];
}

export interface WorkStore {
  forTenant(tenant: TenantId): TenantJobs;
  /**
   * Jobs that are due, each held by the caller from now on until its lease ends. Tenants take turns, and so do the lanes of a
   * tenant: one that has very many jobs keeps nobody else waiting.
   */
  claim(request: ClaimRequest): Promise<Claim[]>;
  /** For each, whether it is still held: then its lease is renewed and its progress saved. */
  renew(
    claims: readonly (ClaimRef & { readonly progress?: string | undefined })[],
    leaseMs: number,
  ): Promise<boolean[]>;
  /** All in one commit. For each, whether it was still held; the outcome of a lost one is not saved. */
  finish(finished: readonly Finished[]): Promise<boolean[]>;
  letterCountOfAll(): Promise<number>;
  backlogOfAll(kind: JobKind): Promise<Backlog>;
  /**
   * A lane with a job of the kind that has been due for so long and is not claimed, although nobody holds a job of the kind, and
   * the lane is open and does not rest. It looks at a portion of those that wait.
   */
  overdue(kind: JobKind, byMs: number): Promise<(LaneRef & { readonly tenant: TenantId }) | undefined>;
  /** Removes a portion of the jobs that were kept long enough; true when there may be more. */
  sweep(): Promise<boolean>;
}
