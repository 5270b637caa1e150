// The two texts of plain events, put together from the bytes that they arrived in and what the service adds. Those of
// one request stand one behind the other in the same memory. Byte for byte what draftOf makes of the event once it is
// read: both ways lead to one evidence.

import type { Classification } from '@tallystick/contract';
import { canonicalJson, type JsonOutline } from '@tallystick/evidence';
import { giveBack } from '../runtime/give-back.ts';
import type { Acceptance } from './draft.ts';
import { isPlain, type PlainEvent } from './plain-event.ts';

const CLASSIFICATION: Readonly<Record<Classification, Uint8Array>> = {
  Public: Buffer.from(',"classification":"Public"'),
  Internal: Buffer.from(',"classification":"Internal"'),
  Confidential: Buffer.from(',"classification":"Confidential"'),
  Secret: Buffer.from(',"classification":"Secret"'),
};
const SUCCESS = Buffer.from(',"outcome":"Success"');
const CORRELATION_ID = ',"correlationId":';
const NO_FRACTION = Buffer.from('.000Z"}');
/** Of `"2026-01-02T03:04:05`. */
const SECONDS_BYTES = 20;
/** The same and `Z"`: a time without a fraction. */
const WHOLE_SECONDS_BYTES = 22;

const COMMA = 0x2c;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/** Up to so many bytes, a loop is faster than set() and the view that it needs. */
const LOOP_LENGTH_MAX = 128;

/** An upper bound for the bytes that the service adds to the texts of an event, without the sender's name. */
const ADDED_BYTES_MAX = 192;

export class PlainTexts {
  readonly #submittedBy: Uint8Array;
  readonly #correlationId: string | undefined;
  #correlationMember: Uint8Array | undefined;
  readonly #uuid: () => string;
  readonly #bytes: Uint8Array;
  #end = 0;

  /** Room for the plain ones among the events of a request. */
  constructor(events: readonly object[], acceptance: Acceptance, uuid: () => string) {
    const { caller, correlationId } = acceptance;
    let bodyBytes = 0;
    for (const event of events) if (isPlain(event)) bodyBytes = event.outline.bytes.length;
    this.#submittedBy = senderMember(caller.name);
    this.#correlationId = correlationId;
    this.#uuid = uuid;
    // Small ones share memory with others, which is far quicker. All of it is written before it is handed out.
    this.#bytes = Buffer.allocUnsafe(
      bodyBytes + events.length * (ADDED_BYTES_MAX + this.#submittedBy.length),
    );
  }

  /** Group 1. Members follow one another as RFC 8785 orders them, in what was sent as in what is written. */
  facts(event: PlainEvent, classification: Classification): Uint8Array {
    const { outline, actor, correlationId, outcome, resource, timestamp } = event;
    const begin = this.#end;
    // An event begins with its action and its actor, side by side.
    this.#copy(outline.bytes, outline.from(event.node), outline.to(actor));
    this.#add(CLASSIFICATION[classification]);
    if (correlationId !== 0) this.#member(outline, correlationId);
    else this.#add(this.#ownCorrelation());
    if (outcome !== 0) this.#member(outline, outcome);
    else this.#add(SUCCESS);
    this.#member(outline, resource);
    this.#add(this.#submittedBy);
    this.#time(outline, timestamp);
    return this.#bytes.subarray(begin, this.#end);
  }

  /** Group 2. */
  content({ outline, context, payload }: PlainEvent): Uint8Array {
    const begin = this.#end;
    if (context !== 0) this.#member(outline, context);
    if (payload !== 0) this.#member(outline, payload);
    if (this.#end === begin) this.#end += 1;
    // In place of the comma before the first member.
    this.#bytes[begin] = BRACE;
    this.#bytes[this.#end++] = BRACE_END;
    return this.#bytes.subarray(begin, this.#end);
  }

  /** Called when the events are stored: their texts are gone then. */
  giveBack(): void {
    giveBack(this.#bytes);
  }

  /** That of the request, made once, or one for this event alone. */
  #ownCorrelation(): Uint8Array {
    if (this.#correlationId === undefined) return memberOf(this.#uuid());
    return (this.#correlationMember ??= memberOf(this.#correlationId));
  }

  #time(outline: JsonOutline, timestamp: number): void {
    const from = outline.from(timestamp);
    const to = outline.to(timestamp);
    if (to - from === WHOLE_SECONDS_BYTES) {
      this.#bytes[this.#end++] = COMMA;
      this.#copy(outline.bytes, outline.keyFrom(timestamp) - 1, from + SECONDS_BYTES);
      this.#add(NO_FRACTION);
    } else {
      this.#member(outline, timestamp);
      this.#bytes[this.#end++] = BRACE_END;
    }
  }

  /** A comma, the key and the value. */
  #member(outline: JsonOutline, node: number): void {
    this.#bytes[this.#end++] = COMMA;
    this.#copy(outline.bytes, outline.keyFrom(node) - 1, outline.to(node));
  }

  #add(text: Uint8Array): void {
    this.#copy(text, 0, text.length);
  }

  #copy(text: Uint8Array, from: number, to: number): void {
    const bytes = this.#bytes;
    const by = this.#end - from;
    if (to - from > LOOP_LENGTH_MAX) bytes.set(text.subarray(from, to), this.#end);
    else for (let i = from; i < to; i++) bytes[i + by] = text[i]!;
    this.#end += to - from;
  }
}

/** A producer that sends one event sends many. */
const senders = new Map<string, Uint8Array>();
const SENDERS_MAX = 1000;

function senderMember(submittedBy: string): Uint8Array {
  const known = senders.get(submittedBy);
  if (known !== undefined) return known;
  if (senders.size >= SENDERS_MAX) senders.clear();
  const member = Buffer.from(`,"submittedBy":${canonicalJson(submittedBy)}`);
  senders.set(submittedBy, member);
  return member;
}

function memberOf(correlationId: string): Uint8Array {
  return Buffer.from(`${CORRELATION_ID}${canonicalJson(correlationId)}`);
}
