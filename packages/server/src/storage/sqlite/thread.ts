// A worker thread that answers messages one by one, in order, and the handle by which main asks it. A message may hand
// over ArrayBuffers instead of cloning them. When the thread dies, everybody who waits is told, and so is whoever
// started it: what it was doing is unknown.

import { AssertionError } from 'node:assert';
import { parentPort, type Transferable, Worker } from 'node:worker_threads';

export interface ThreadHandle<Message> extends AsyncDisposable {
  /** Settles when the thread can answer, or has failed before it could. */
  readonly opened: Promise<unknown>;
  ask(message: Message, handOver?: readonly ArrayBuffer[]): Promise<unknown>;
}

type Reply = { readonly value: unknown } | { readonly error: Error; readonly code: string };

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the file of that name beside this one, a source or a built one as this is. */
export function startThread<Message>(
  name: string,
  data: unknown,
  onCrash: (error: Error) => void,
): ThreadHandle<Message> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./${name}.${extension}`, import.meta.url), { workerData: data, name });
  // Answers come in the order of the questions, so none needs a number.
  const asked: Asked[] = [];
  let crash: Error | undefined;
  let isStopping = false;
  let isOpened = false;
  const exited = new Promise<void>((resolve) => {
    const crashed = (error: Error) => {
      crash ??= error;
      for (const { reject } of asked.splice(0)) reject(crash);
      // Until it is open, whoever waits for that is told.
      if (isOpened && !isStopping) onCrash(crash);
    };
    worker.on('error', (error: unknown) => {
      crashed(error instanceof Error ? error : new Error(`${name} failed`, { cause: error }));
    });
    worker.on('exit', () => {
      if (crash === undefined) crashed(new Error(`${name} has ${isStopping ? 'stopped' : 'ended'}`));
      resolve();
    });
  });
  worker.on('message', (reply: Reply) => {
    const waiting = asked.shift();
    if (waiting === undefined) return;
    if ('error' in reply) waiting.reject(Object.assign(reply.error, { code: reply.code }));
    else waiting.resolve(reply.value);
  });

  const post = (message: unknown, handOver: readonly ArrayBuffer[] = []): Promise<unknown> => {
    if (crash !== undefined) return Promise.reject(crash);
    return new Promise((resolve, reject) => {
      worker.postMessage(message, handOver);
      asked.push({ resolve, reject });
    });
  };
  const opened = post(OPENED).then(() => (isOpened = true));
  return {
    opened,
    ask: post,
    async [Symbol.asyncDispose]() {
      isStopping = true;
      if (crash === undefined) await post(STOP).catch(() => {});
      await exited;
    },
  };
}

const OPENED = 'Opened';
const STOP = 'Stop';

export interface ThreadWork<Message> {
  /** The answer, and what of it is handed over. */
  readonly answer: (message: Message) => {
    readonly value: unknown;
    readonly handOver?: readonly Transferable[];
  };
  readonly stop: () => void;
}

/** The other end, inside the thread. */
export function serveThread<Message>({ answer, stop }: ThreadWork<Message>): void {
  const port = parentPort;
  if (port === null) throw new Error('this file is the entry of a worker thread');
  port.on('message', (message: Message | typeof OPENED | typeof STOP) => {
    try {
      if (message === OPENED) {
        port.postMessage({ value: undefined });
        return;
      }
      if (message === STOP) {
        try {
          stop();
          port.postMessage({ value: undefined });
        } finally {
          port.close();
        }
        return;
      }
      const { value, handOver = [] } = answer(message);
      port.postMessage({ value }, handOver);
    } catch (error) {
      // A broken invariant: better to end than to go on with a log that we doubt.
      if (error instanceof AssertionError) throw error;
      port.postMessage(failureOf(error));
    }
  });
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

function failureOf(error: unknown): Reply {
  if (!(error instanceof Error)) return { error: new Error(String(error)), code: 'Error' };
  const result = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
  const own = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { error, code: SQLITE_CODES[result] ?? own };
}
