// What `tallystick verify` is handed: a file, or standard input by the name `-`. It is read once, from the beginning to the
// end, so that a pipe will do; its first bytes say what it is.

import { createReadStream, statSync } from 'node:fs';
import { CannotRun } from '../cannot-run.ts';
import { errorAnswerIn } from '../error-answer.ts';
import { cannotRead, textOrNone } from '../read-text.ts';

const STANDARD_INPUT = '-';
const HEAD_BYTES = 64;
/** Of its first entry. */
export const ZIP_BEGIN = 'PK\u0003\u0004';
const CHUNK_BYTES = 1_048_576;
const PROOF_BYTES_MAX = 8 * 1_048_576;

export interface EvidenceInput extends AsyncDisposable {
  readonly content: { readonly kind: 'Bundle'; readonly chunks: AsyncIterable<Uint8Array> } | ProofText;
  /** Undefined where it comes through a pipe. */
  readonly bytes: number | undefined;
}

interface ProofText {
  readonly kind: 'Proof';
  readonly text: string;
}

/** As messages and reports call it. */
export function shownInput(file: string): string {
  return file === STANDARD_INPUT ? 'standard input' : file;
}

/** Throws CannotRun for what is neither a bundle nor a proof. */
export async function openEvidence(file: string): Promise<EvidenceInput> {
  const chunks = chunksOf(file);
  const end = async (): Promise<void> => void (await chunks.return(undefined));
  try {
    const head = await readHead(chunks);
    const whole = startingWith(head, chunks);
    const kind = kindOf(Buffer.from(head.subarray(0, HEAD_BYTES)).toString('latin1'), file);
    const content = kind === 'Bundle' ? { kind, chunks: whole } : await proofIn(whole, file);
    return { content, bytes: sizeOf(file), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function* chunksOf(file: string): AsyncGenerator<Uint8Array, undefined, undefined> {
  const stream =
    file === STANDARD_INPUT ? process.stdin : createReadStream(file, { highWaterMark: CHUNK_BYTES });
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw cannotRead(shownInput(file), error);
  }
}

/** A pipe may give less at once than it takes to tell. */
async function readHead(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  while (head.length < HEAD_BYTES) {
    const { done, value } = await chunks.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* startingWith(
  head: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined, undefined> {
  yield head;
  yield* rest;
}

function kindOf(head: string, file: string): 'Bundle' | 'Proof' {
  if (head === '') throw new CannotRun(`${shownInput(file)} is empty`);
  if (head.startsWith(ZIP_BEGIN))
    throw new CannotRun(`${shownInput(file)} is an archive, which is read from its end: give it as a file`);
  if (head.startsWith('{"format":')) return 'Bundle';
  if (head.startsWith('c2sp.org/tlog-proof') || head.trimStart().startsWith('{')) return 'Proof';
  throw new CannotRun(`${shownInput(file)} is neither a bundle nor a proof`);
}

async function proofIn(chunks: AsyncIterable<Uint8Array>, file: string): Promise<ProofText> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > PROOF_BYTES_MAX) {
      throw new CannotRun(
        `${shownInput(file)} is over ${PROOF_BYTES_MAX} bytes, which is more than any proof has`,
      );
    }
    read.push(chunk);
  }
  const text = textOrNone(Buffer.concat(read, length));
  if (text === undefined) throw new CannotRun(`${shownInput(file)} is no text`);
  // `curl` without -f saves a refusal like anything else.
  const refusal = /^\s*\{\s*"error"/.test(text) ? errorAnswerIn(text) : undefined;
  if (refusal !== undefined) {
    throw new CannotRun(`${shownInput(file)} is an error answer of the service: ${refusal.shown}`);
  }
  return { kind: 'Proof', text };
}

function sizeOf(file: string): number | undefined {
  const found = file === STANDARD_INPUT ? undefined : statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
}
