// Arrays as the database takes them in their binary form: for many rows it costs both sides a part of what a list of texts
// does. All numbers are big-endian.
//
//   int32 1 (dimension), int32 whether there are nulls, int32 the type of the elements, int32 how many, int32 1 (the first),
//   and for each: int32 its length, its bytes; the length of a null is -1

/** The type numbers of PostgreSQL. */
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const TEXT = 25;

const HAS_NULLS_AT = 4;
const COUNT_AT = 12;
const HEAD_BYTES = 20;
const NULL_LENGTH = -1;
const BYTES_AT_FIRST = 4096;
/** Enough for a number with its length. */
const ELEMENT_BYTES_AT_FIRST = 12;
const ASCII_END = 0x80;
/** The maximum size of a UTF-16 unit. */
const UNIT_BYTES_MAX = 3;
/** For fewer characters a loop is faster than a call. */
const SHORT_LENGTH = 64;
const INT32_SPAN = 2 ** 32;

export function smallints(values: readonly number[]): Uint8Array {
  return arrayOf(INT2, values, (array, value) => array.putInt16(value));
}

export function integers(values: readonly number[]): Uint8Array {
  return arrayOf(INT4, values, (array, value) => array.putInt32(value));
}

/** Exact integers. */
export function bigints(values: readonly (number | null)[]): Uint8Array {
  return arrayOf(INT8, values, (array, value) => array.putInt64(value));
}

export function texts(values: readonly (string | null)[]): Uint8Array {
  return arrayOf(TEXT, values, (array, value) => array.putText(value));
}

export function byteas(values: readonly (Uint8Array | null)[]): Uint8Array {
  return arrayOf(BYTEA, values, (array, value) => array.putBytes(value));
}

function arrayOf<T>(
  type: number,
  values: readonly (T | null)[],
  put: (array: ArrayBytes, value: T) => void,
): Uint8Array {
  const array = new ArrayBytes(type, HEAD_BYTES + ELEMENT_BYTES_AT_FIRST * values.length);
  for (const value of values) {
    if (value === null) {
      array.addNull();
      continue;
    }
    const element = array.begin();
    put(array, value);
    array.end(element);
  }
  return array.take();
}

/** An array that is written element by element. */
class ArrayBytes {
  #bytes: Buffer;
  #end = HEAD_BYTES;
  #count = 0;

  /** Grows if `bytesAtFirst` is not enough. */
  constructor(type: number, bytesAtFirst = BYTES_AT_FIRST) {
    this.#bytes = Buffer.allocUnsafe(bytesAtFirst);
    for (const [i, value] of [1, 0, type, 0, 1].entries()) this.#bytes.writeInt32BE(value, 4 * i);
  }

  addNull(): void {
    this.#bytes.writeInt32BE(1, HAS_NULLS_AT);
    this.#count++;
    this.putInt32(NULL_LENGTH);
  }

  /** Starts an element; `end` takes the returned value. */
  begin(): number {
    this.#count++;
    this.putInt32(0);
    return this.#end;
  }

  end(element: number): void {
    this.#bytes.writeInt32BE(this.#end - element, element - 4);
  }

  putInt16(value: number): void {
    this.#reserve(2);
    this.#bytes[this.#end++] = value >> 8;
    this.#bytes[this.#end++] = value;
  }

  putInt32(value: number): void {
    this.#reserve(4);
    this.#end = this.#bytes.writeInt32BE(value, this.#end);
  }

  putInt64(value: number): void {
    this.#reserve(8);
    const high = Math.floor(value / INT32_SPAN);
    this.#bytes.writeInt32BE(high, this.#end);
    this.#bytes.writeUInt32BE(value - high * INT32_SPAN, this.#end + 4);
    this.#end += 8;
  }

  putBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  putText(text: string): void {
    this.#reserve(UNIT_BYTES_MAX * text.length);
    const bytes = this.#bytes;
    const begin = this.#end;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= ASCII_END || i === SHORT_LENGTH) {
        this.#end = begin + bytes.write(text, begin, 'utf8');
        return;
      }
      bytes[begin + i] = code;
    }
    this.#end = begin + text.length;
  }

  take(): Uint8Array {
    this.#bytes.writeInt32BE(this.#count, COUNT_AT);
    return this.#bytes.subarray(0, this.#end);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
