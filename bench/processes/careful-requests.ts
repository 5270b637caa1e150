// Requests as careful clients send them: every event with an `eventId` of its own, every request with an
// `Idempotency-Key` of its own. Both are written into a copy of bytes that were made beforehand, so that the load
// generator does little more than for bare requests. Ids are ULIDs of the moment; keys are random.

import { randomFillSync } from 'node:crypto';

/** Stands where an event id goes, in the body; a valid ULID that no client would send. */
export const ID_PLACE = '0'.repeat(26);
/** Stands where a key goes, in the header. */
export const KEY_PLACE = '~'.repeat(32);

const DIGITS = Buffer.from('0123456789ABCDEFGHJKMNPQRSTVWXYZ');
/** Of a ULID: the time comes first. */
const TIME_DIGITS = 10;

/** Makes requests of one that has places for ids and a key. */
export class CarefulRequest {
  readonly #made: Buffer;
  readonly #ids: readonly number[];
  readonly #keys: readonly number[];

  constructor(made: Buffer) {
    this.#made = made;
    this.#ids = placesOf(made, ID_PLACE);
    this.#keys = placesOf(made, KEY_PLACE);
  }

  /** With fresh ids and a fresh key. */
  next(): Buffer {
    const request = Buffer.allocUnsafe(this.#made.length);
    this.#made.copy(request);
    let ms = Date.now();
    const time = Buffer.alloc(TIME_DIGITS);
    for (let i = TIME_DIGITS - 1; i >= 0; i--, ms = Math.floor(ms / 32)) time[i] = DIGITS[ms % 32]!;
    for (const at of this.#ids) {
      request.set(time, at);
      writeRandom(request, at + TIME_DIGITS, at + ID_PLACE.length);
    }
    for (const at of this.#keys) writeRandom(request, at, at + KEY_PLACE.length);
    return request;
  }
}

function placesOf(bytes: Buffer, place: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(place); at !== -1; at = bytes.indexOf(place, at + place.length))
    places.push(at);
  return places;
}

const random = Buffer.alloc(64 * 1024);
let used = random.length;

function writeRandom(bytes: Buffer, from: number, to: number): void {
  if (used + to - from > random.length) {
    randomFillSync(random);
    used = 0;
  }
  for (let at = from; at < to; at++) bytes[at] = DIGITS[random[used++]! & 31]!;
}
