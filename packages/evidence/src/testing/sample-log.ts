// A small log in memory, the same every time: for tests, benchmarks and the project's own vectors. Salts and
// keys are made from names, so nothing here is secret or random.

import { BundleWriter } from '../bundle/bundle-writer.ts';
import type { BundleHeader, EntryLine } from '../bundle/bundle-line.ts';
import { concat, utf8 } from '../bytes.ts';
import { CompactRange } from '../tree/compact-range.ts';
import { contentOf } from '../event/content.ts';
import { openEvent } from '../event/show-event.ts';
import { type Entry, genesisHash, type Kind, KINDS } from '../event/entry.ts';
import { encodeEntry } from '../event/entry-bytes.ts';
import type { EventProof } from '../bundle/event-proof.ts';
import { eventIdText } from '../event/event-id.ts';
import { noteVerifier, type Verifier } from '../note/note.ts';
import { noteSigner, signCheckpoint, type Signer } from '../note/signer.ts';
import { sha256 } from '../hash/sha256.ts';
import { type ShownEvent } from '../event/shown-event.ts';
import { type HashReader, proveInclusion, proveRange, treeRoot } from '../tree/prove.ts';
import { leafHash } from '../tree/tree.ts';

export const SAMPLE_ORIGIN = 'audit.example.com/t/acme';
export const SAMPLE_KEY_SEED = sha256(utf8('audit-trail test log key'));
const FIRST_RECEIVED_AT_MS = 1_767_323_046_000;

export interface SampleEntry {
  entry: Uint8Array;
  leaf: Uint8Array;
  shown: ShownEvent;
}

/** What a bundle made from the sample log should hold; the defaults are a whole, complete one. */
export interface SampleBundleOptions extends Partial<BundleHeader> {
  lines?: readonly EntryLine[];
  notices?: readonly number[];
}

export class SampleLog {
  readonly origin: string;
  readonly entries: SampleEntry[] = [];
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly #nodes = new Map<string, Uint8Array>();
  readonly #range = new CompactRange();

  readonly #genesis: Uint8Array;

  private constructor(signer: Signer, verifier: Verifier, genesis: Uint8Array) {
    this.origin = signer.name;
    this.signer = signer;
    this.verifier = verifier;
    this.#genesis = genesis;
  }

  static async create(origin = SAMPLE_ORIGIN, genesisOf = genesisHash): Promise<SampleLog> {
    const signer = await noteSigner(origin, SAMPLE_KEY_SEED);
    return new SampleLog(signer, await noteVerifier(signer.verifierKey), genesisOf(origin));
  }

  get size(): number {
    return this.entries.length;
  }

  readonly read: HashReader = (level, index) => this.#nodes.get(`${level}/${index}`)!;

  /** `changes` are what a log should not have accepted. */
  append(
    event: Readonly<Record<string, unknown>>,
    kind: Kind = KINDS.event,
    changes: Partial<Entry> = {},
  ): SampleEntry {
    const index = this.entries.length;
    const shown = openEvent(event, (path) => sha256(utf8(`salt ${index} ${path}`)).subarray(0, 16));
    const entry = encodeEntry({
      kind,
      index,
      receivedAtMs: FIRST_RECEIVED_AT_MS + index,
      eventId: eventIdText(concat(Uint8Array.of(1, 155), sha256(utf8(`event ${index}`)).subarray(0, 14))),
      previous: this.entries.at(-1)?.leaf ?? this.#genesis,
      content: contentOf(shown),
      ...changes,
    });
    return this.appendEntry(entry, shown);
  }

  /** Takes an entry as it is: a log that signs what it should not have accepted. */
  appendEntry(entry: Uint8Array, shown: ShownEvent): SampleEntry {
    const leaf = leafHash(entry);
    this.#range.append(leaf, (level, at, hash) => this.#nodes.set(`${level}/${at}`, hash));
    const appended = { entry, leaf, shown };
    this.entries.push(appended);
    return appended;
  }

  notice(kind: Kind, payload: Readonly<Record<string, unknown>>): SampleEntry {
    return this.append({ ...SYSTEM_EVENT, payload }, kind);
  }

  checkpoint(size = this.size): Promise<string> {
    const { origin } = this;
    return signCheckpoint({ origin, size, root: treeRoot(size, this.read) }, [this.signer]);
  }

  async proofOf(index: number, shown = this.entries[index]!.shown): Promise<EventProof> {
    const { entry } = this.entries[index]!;
    const hashes = proveInclusion(index, this.size, this.read);
    return { entry, shown, hashes, checkpoint: await this.checkpoint() };
  }

  /** A line of a bundle with its own inclusion proof. */
  provenLine(index: number, line: EntryLine = this.entries[index]!): EntryLine {
    const { entry, shown } = line;
    return { entry, shown, inclusion: proveInclusion(index, this.size, this.read) };
  }

  async bundle(options: SampleBundleOptions = {}): Promise<Uint8Array> {
    const { lines, notices = [], ...header } = options;
    const { from = 0, to = this.size, size = this.size, filter = null, complete = true } = header;
    const writer = new BundleWriter();
    const whole = lines ?? this.entries.slice(from, to).map(({ entry, shown }) => ({ entry, shown }));
    const proof = complete ? proveRange(from, to, size, this.read) : [];
    return concat(
      writer.header({ origin: this.origin, ...header, from, to, size, filter, complete }),
      ...whole.map((line) => writer.entry(line)),
      ...notices.map((index) => writer.notice(this.provenLine(index))),
      writer.trailer(proof, await this.checkpoint(size)),
    );
  }
}

const SYSTEM_EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  actor: { actorType: 'System' },
  action: 'Record.Notice',
  resource: { resourceType: 'Log', resourceId: 'acme' },
  classification: 'Internal',
  outcome: 'Success',
};

/** The event of the format's published vector. */
export const VECTOR_EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  actor: { actorType: 'User', userId: 'u-42', userName: 'ana@example.com' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  classification: 'Confidential',
  outcome: 'Success',
  context: { ipAddress: '203.0.113.7' },
  payload: { amount: 1250.5, lines: [{ qty: 2, sku: 'a/b' }], note: 'späť €' },
  submittedBy: 'key:01KE0000000000000000000001',
};

/** The n-th of a row of events that differ in actor, action and payload. */
export function sampleEvent(n: number): Record<string, unknown> {
  return {
    ...VECTOR_EVENT,
    actor: { actorType: 'User', userId: `u-${n % 7}`, userName: `user${n % 7}@example.com` },
    action: ['Delete.Invoice', 'Create.Invoice', 'Read.Invoice'][n % 3]!,
    resource: { resourceType: 'Invoice', resourceId: `INV-${n}` },
    payload: { amount: n * 1.5, note: `payment ${n}`, lines: [{ qty: n % 5, sku: 'a/b' }] },
  };
}
