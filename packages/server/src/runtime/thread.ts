// Worker threads that answer messages, and the handles by which main asks them. A thread handles messages one by one
// and in order; answers that take time may overtake one another. A message may hand over ArrayBuffers instead of
// cloning them, and a thread may hand a question on to another, which then answers it. When a thread dies, all callers
// that wait for it get an error, and so does its owner: nobody knows how far it came.

import { AssertionError } from 'node:assert';
import {
  type MessagePort,
  parentPort,
  type ResourceLimits,
  type Transferable,
  Worker,
} from 'node:worker_threads';
import { AuditError, type ErrorCode, type ErrorDetail } from '@tallystick/contract';
import { EvidenceError, type Reason } from '@tallystick/evidence';

export interface ThreadHandle<Message> extends AsyncDisposable {
  /** Settles when the thread can answer, or has failed before it could. */
  readonly opened: Promise<unknown>;
  /** Why the thread is no more; undefined while it lives. */
  readonly crash: Error | undefined;
  /** `answeredBy` is another thread that this one hands the question on to. */
  ask(message: Message, handOver?: readonly ArrayBuffer[], answeredBy?: Answering): Promise<unknown>;
}

/** A thread with any kind of message. */
type Answering = ThreadHandle<never>;

interface Question {
  readonly number: number;
  readonly message: unknown;
}

type Reply = { readonly number: number; readonly value: unknown } | ({ readonly number: number } & Failure);

/** Of an error that goes to another thread nothing is left there but what it says: not even of what class it is. */
interface Failure {
  readonly error: Error;
  readonly code: string;
  /** There if it is an EvidenceError. */
  readonly evidence?: { readonly reason: Reason; readonly index: number | undefined };
  /** There if it is an AuditError. */
  readonly audit?: {
    readonly code: ErrorCode;
    readonly details: readonly ErrorDetail[];
    readonly retryAfterSeconds?: number;
  };
}

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Who must live for it to be answered. */
  readonly threads: readonly Answering[];
}

/** What is asked of any thread: one of them may answer what another was asked. */
const asked = new Map<number, Asked>();
let lastNumber = 0;

/** Starts threads whose files are beside this one, the URL of a module: sources or built ones, as that is. */
export function threadsBeside(module: string) {
  const extension = module.endsWith('.ts') ? 'ts' : 'js';
  return <Message>(
    name: string,
    data: unknown,
    onCrash: (error: Error) => void,
    handOver: readonly Transferable[] = [],
    resourceLimits: ResourceLimits = {},
  ): ThreadHandle<Message> => {
    const worker = new Worker(new URL(`./${name}.${extension}`, module), {
      workerData: data,
      transferList: [...handOver],
      resourceLimits,
      name,
    });
    return new WorkerHandle<Message>(name, worker, onCrash);
  };
}

/** The memory of these views that a message may hand over; what shares its memory with others is cloned instead. */
export function ownBuffers(...views: readonly (ArrayBufferView | undefined)[]): ArrayBuffer[] {
  return views.flatMap((view) =>
    view?.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength ? view.buffer : [],
  );
}

class WorkerHandle<Message> implements ThreadHandle<Message> {
  readonly opened: Promise<unknown>;
  readonly #name: string;
  readonly #worker: Worker;
  readonly #onCrash: (error: Error) => void;
  readonly #exited: Promise<void>;
  #crash: Error | undefined;
  #isOpened = false;
  #isStopping = false;

  constructor(name: string, worker: Worker, onCrash: (error: Error) => void) {
    this.#name = name;
    this.#worker = worker;
    this.#onCrash = onCrash;
    worker.on('message', settle);
    worker.on('error', (error: unknown) => {
      this.#crashed(error instanceof Error ? error : new Error(`${name} failed`, { cause: error }));
    });
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        if (this.#crash === undefined) this.#crashed(this.#ended());
        resolve();
      });
    });
    this.opened = this.#post(OPENED).then(() => (this.#isOpened = true));
    // Questions to a thread that never opened are rejected with the reason; nobody has to wait for this one.
    this.opened.catch(() => {});
  }

  get crash(): Error | undefined {
    return this.#crash;
  }

  ask(message: Message, handOver?: readonly ArrayBuffer[], answeredBy?: Answering): Promise<unknown> {
    return this.#post(message, handOver, answeredBy);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    if (this.#crash === undefined) await this.#post(STOP).catch(() => {});
    await this.#exited;
  }

  #post(
    message: unknown,
    handOver: readonly ArrayBuffer[] = [],
    answeredBy: Answering = this,
  ): Promise<unknown> {
    const dead = this.#crash ?? answeredBy.crash;
    if (dead !== undefined) return Promise.reject(dead);
    return new Promise((resolve, reject) => {
      const number = ++lastNumber;
      this.#worker.postMessage({ number, message } satisfies Question, handOver);
      asked.set(number, { resolve, reject, threads: [this, answeredBy] });
    });
  }

  #ended(): Error {
    return new Error(`${this.#name} has ${this.#isStopping ? 'stopped' : 'ended'}`);
  }

  #crashed(error: Error): void {
    const crash = (this.#crash ??= error);
    rejectAll(this, crash);
    // Until it is open, the caller that waits for that gets the error.
    if (this.#isOpened && !this.#isStopping) this.#onCrash(crash);
  }
}

function settle(reply: Reply): void {
  const waiting = asked.get(reply.number);
  if (waiting === undefined) return;
  asked.delete(reply.number);
  if ('error' in reply) waiting.reject(errorOf(reply));
  else waiting.resolve(reply.value);
}

function errorOf({ error, code, evidence, audit }: Failure): Error {
  if (evidence !== undefined)
    return new EvidenceError(evidence.reason, error.message, { index: evidence.index, cause: error });
  if (audit === undefined) return Object.assign(error, { code });
  const { code: errorCode, ...facts } = audit;
  return new AuditError(errorCode, error.message, { ...facts, cause: error.cause ?? error });
}

function rejectAll(thread: Answering, error: Error): void {
  for (const [number, { reject, threads }] of asked) {
    if (!threads.includes(thread)) continue;
    asked.delete(number);
    reject(error);
  }
}

const OPENED = 'Opened';
const STOP = 'Stop';

interface Answer {
  readonly value: unknown;
  readonly handOver?: readonly Transferable[];
}

/** The question goes on to another thread, as this message. */
interface HandedOn {
  readonly to: MessagePort;
  readonly message: unknown;
  readonly handOver: readonly Transferable[];
}

type Answered = Answer | HandedOn;

export interface ThreadWork<Message> {
  readonly answer: (message: Message) => Answered | Promise<Answered>;
  /** Called once all that was asked is answered. */
  readonly stop: () => void | Promise<void>;
}

/** The other end, inside the thread; `from` is where questions arrive that another thread hands on. */
export function serveThread<Message>({ answer, stop }: ThreadWork<Message>, from?: MessagePort): void {
  const port = parentPort;
  if (port === null) throw new Error('this file is the entry of a worker thread');
  const underWay = new Set<Promise<void>>();
  const reply = (number: number, answered: Answered) => {
    if ('to' in answered) {
      answered.to.postMessage({ number, message: answered.message } satisfies Question, answered.handOver);
    } else port.postMessage({ number, value: answered.value } satisfies Reply, answered.handOver ?? []);
  };
  const fail = (number: number, error: unknown) => {
    // A broken invariant: better to end than to go on with a log that we doubt.
    if (error instanceof AssertionError) throw error;
    port.postMessage({ number, ...failureOf(error) } satisfies Reply);
  };
  const end = async (number: number) => {
    try {
      await Promise.all(underWay);
      await stop();
      port.postMessage({ number, value: undefined });
    } catch (error) {
      fail(number, error);
    } finally {
      port.close();
      from?.close();
    }
  };
  const take = ({ number, message }: { number: number; message: Message | typeof OPENED | typeof STOP }) => {
    if (message === STOP) return void end(number);
    try {
      const answered = message === OPENED ? { value: undefined } : answer(message);
      if (!(answered instanceof Promise)) return reply(number, answered);
      const settled = answered
        .then((value) => reply(number, value))
        .catch((error: unknown) => fail(number, error))
        .finally(() => underWay.delete(settled));
      underWay.add(settled);
    } catch (error) {
      fail(number, error);
    }
  };
  port.on('message', take);
  from?.on('message', take);
}

/** The result codes of SQLite that say what an operator has to look at. */
const SQLITE_CODES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
};

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { error: new Error(String(error)), code: 'Error' };
  const failure = { error, code: codeOf(error) };
  if (error instanceof EvidenceError)
    return { ...failure, evidence: { reason: error.reason, index: error.index } };
  if (!(error instanceof AuditError)) return failure;
  const { code, details, retryAfterSeconds } = error;
  return {
    ...failure,
    audit: { code, details, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
  };
}

/** What failed, in one word: of SQLite, of the system, or the error's name. */
export function codeOf(error: Error): string {
  const result = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
  const own = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return SQLITE_CODES[result] ?? own;
}
