// Asks the witnesses of a policy to cosign a checkpoint (c2sp.org/tlog-witness), all at the same time. A cosignature
// counts once it has verified against the witness's key. A bad answer, or none, is never an error for
// the caller: it stands in that witness's report. Two answers are alarms, because they say that somebody has shown the
// witness another log under our name: it has a larger one than ours, or one that ours does not extend.

import {
  cosignaturesBy,
  formatAddCheckpoint,
  isQuorum,
  type NoteSignature,
  openCosignature,
  parseCheckpoint,
  parseNote,
  parseTreeSize,
  type PolicyWitness,
  TREE_SIZE_CONTENT_TYPE,
  withSignatures,
} from '@tallystick/evidence';
import type { Clock, Timer } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { WitnessRequest, WitnessResponse, WitnessResponses } from '../streams/witness/ask-witnesses.ts';
import { OutboundError } from './http/outbound-error.ts';
import type { OutboundHttp } from './http/outbound-http.ts';

export interface CollectOptions
  extends Omit<WitnessRequest, 'sizes' | 'signal'>,
    Partial<Pick<WitnessRequest, 'sizes' | 'signal'>> {
  readonly http: OutboundHttp;
  readonly clock: Clock;
  /** For one witness, both requests together. */
  readonly timeoutMs?: number;
  /** How long the others are waited for once there is a quorum. */
  readonly lateMs?: number;
}

/** Three cosignatures by keys of the largest kind known fit, and a hundred and fifty of ours. */
const REPLY_BYTES_MAX = 16 * 1024;
const TIMEOUT_MS = 10_000;
const LATE_MS = 1000;

interface Submission extends Pick<CollectOptions, 'note' | 'prove' | 'http'> {
  readonly origin: string;
  readonly size: number;
  readonly sizes: Map<string, number>;
  readonly timeoutMs: number;
}

type Asked = { report: WitnessResponse; signature?: NoteSignature };

/** Throws only for a note that is no checkpoint, or that has a cosignature of a witness which does not verify. */
export async function collectCosignatures(options: CollectOptions): Promise<WitnessResponses> {
  const { note, policy, http, clock, prove, signal, sizes = new Map(), timeoutMs = TIMEOUT_MS } = options;
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  const submission: Submission = { note, origin, size, prove, http, sizes, timeoutMs };
  const has = new Map((await cosignaturesBy(policy, note)).map((each) => [each.witness, each.timeSeconds]));
  const cosignedBy = new Set(has.keys());

  const end = new AbortController();
  const ends = signal === undefined ? end.signal : AbortSignal.any([end.signal, signal]);
  let late: Timer | undefined;
  const lookAtQuorum = () => {
    if (late !== undefined || !isQuorum(policy, cosignedBy)) return;
    late = clock.after(options.lateMs ?? LATE_MS, () => {
      end.abort(new OutboundError('Timeout', 'it had not answered when the others were enough'));
    });
  };
  const askOne = async (witness: PolicyWitness): Promise<Asked> => {
    const timeSeconds = has.get(witness.name);
    if (timeSeconds !== undefined) return { report: cosigned(witness, timeSeconds, 'had cosigned before') };
    const asked = await askInTime(witness, submission, clock, ends);
    if (asked.signature !== undefined) cosignedBy.add(witness.name);
    lookAtQuorum();
    return asked;
  };

  lookAtQuorum();
  const asked = await Promise.all(policy.witnesses.map(askOne));
  late?.cancel();
  return {
    note: withSignatures(
      note,
      asked.flatMap(({ signature }) => signature ?? []),
    ),
    isQuorum: isQuorum(policy, cosignedBy),
    reports: asked.map(({ report }) => report),
  };
}

async function askInTime(
  witness: PolicyWitness,
  submission: Submission,
  clock: Clock,
  ends: AbortSignal,
): Promise<Asked> {
  if (witness.url === undefined) {
    return { report: reportOf(witness, 'NotAsked', 'the policy has no address for it') };
  }
  const url = `${witness.url.replace(/\/$/, '')}/add-checkpoint`;
  const { timeoutMs } = submission;
  const tooLate = () => new OutboundError('Timeout', `no answer within ${timeoutMs} ms`);
  try {
    return await withDeadline(clock, timeoutMs, tooLate, (deadline) => {
      const signal = AbortSignal.any([deadline.signal, ends]);
      return unlessAborted(signal, ask(witness, url, submission, signal));
    });
  } catch (error) {
    return { report: reportOf(witness, isUnreachable(error) ? 'Unreachable' : 'Failed', explain(error)) };
  }
}

/** Asks, and asks once more where the witness has another size than we thought. */
async function ask(
  witness: PolicyWitness,
  url: string,
  submission: Submission,
  signal: AbortSignal,
): Promise<Asked> {
  const { origin, size, http, sizes, timeoutMs } = submission;
  const place = `${witness.verifier.name}+${witness.verifier.keyId} ${origin}`;
  const remembered = sizes.get(place) ?? 0;
  let oldSize = remembered <= size ? remembered : 0;
  for (let isRepeated = false; ; isRepeated = true) {
    const body = await requestOf(submission, oldSize);
    const reply = await post(http, { url, body, timeoutMs, signal });
    if (reply.status === 200) {
      const { signature, timeSeconds } = await openCosignature(submission.note, reply.body, witness.verifier);
      sizes.set(place, size);
      const report = cosigned(witness, timeSeconds, forgotten(remembered, oldSize));
      return { report, signature };
    }
    const said = conflictSize(reply);
    if (said === undefined) return { report: refused(witness, reply, oldSize === size) };
    sizes.set(place, said);
    if (said > size) return { report: ahead(witness, said, size) };
    if (isRepeated || said === oldSize) {
      const message = `it says its size is ${said} and did not take ${oldSize}`;
      return { report: { ...reportOf(witness, 'Refused', message), status: reply.status, size: said } };
    }
    oldSize = said;
  }
}

async function requestOf({ note, size, prove }: Submission, oldSize: number): Promise<string> {
  const isPlain = oldSize === 0 || oldSize === size;
  return formatAddCheckpoint({ oldSize, proof: isPlain ? [] : await prove(oldSize), note });
}

interface Reply {
  readonly status: number;
  /** Without parameters, in lower case. */
  readonly contentType: string;
  readonly body: string;
}

type PostedCheckpoint = Pick<Parameters<OutboundHttp['send']>[0], 'url' | 'body' | 'timeoutMs' | 'signal'>;

async function post(http: OutboundHttp, request: PostedCheckpoint): Promise<Reply> {
  const { status, headers, body } = await http.send({
    ...request,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    answerBytesMax: REPLY_BYTES_MAX,
  });
  const [contentType = ''] = (headers['content-type'] ?? '').split(';');
  return {
    status,
    contentType: contentType.trim().toLowerCase(),
    body: new TextDecoder('utf-8', { fatal: true }).decode(body),
  };
}

/** The size that the witness has, if it was asked from another one. */
function conflictSize({ status, contentType, body }: Reply): number | undefined {
  return status === 409 && contentType === TREE_SIZE_CONTENT_TYPE ? parseTreeSize(body) : undefined;
}

function refused(witness: PolicyWitness, reply: Reply, isSameSize: boolean): WitnessResponse {
  const { status } = reply;
  const said = `it answers ${status}: ${JSON.stringify(reply.body.trim().slice(0, 200))}`;
  // Of two roots for one size, witnesses of an earlier version of the protocol say 409, without a size.
  if (status === 422 || (status === 409 && isSameSize)) {
    const message = `${said}; our log is not an extension of what it cosigned, or our proof is wrong`;
    return { ...reportOf(witness, 'Inconsistent', message), status };
  }
  return { ...reportOf(witness, 'Refused', said), status };
}

function ahead(witness: PolicyWitness, said: number, size: number): WitnessResponse {
  const message = `it says that it has cosigned ${said} entries, and our log has ${size}: our log was rolled back, or somebody else signs for it`;
  return { ...reportOf(witness, 'Ahead', message), status: 409, size: said };
}

function cosigned(witness: PolicyWitness, timeSeconds: number, message: string): WitnessResponse {
  return { ...reportOf(witness, 'Cosigned', message), timeSeconds };
}

/** A witness that goes back has lost what it stored, and may have cosigned another log since. */
function forgotten(remembered: number, oldSize: number): string {
  if (oldSize >= remembered) return 'cosigned';
  return `cosigned, but it had ${remembered} entries before and then said ${oldSize}: it has forgotten`;
}

function reportOf(
  { name }: PolicyWitness,
  outcome: WitnessResponse['outcome'],
  message: string,
): WitnessResponse {
  return { witness: name, outcome, message };
}

/** Work may wait for something that knows no signal. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
}

function isUnreachable(error: unknown): boolean {
  return error instanceof OutboundError && error.fault !== 'TooLarge';
}

function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
