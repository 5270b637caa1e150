// What columns become. Rows come in the binary form, so that bytes need not be spelled out; whole numbers become numbers
// where they are exact, and bigints where they are not, for whoever reads the column to refuse.

import type { CustomTypesConfig } from 'pg';

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const FLOAT4 = 700;
const FLOAT8 = 701;

type Parse = (bytes: Buffer) => unknown;

const PARSERS: Readonly<Record<number, Parse>> = {
  [BOOL]: (bytes) => bytes[0] === 1,
  // A copy: what was received together would be kept for as long as any piece of it.
  [BYTEA]: (bytes) => Uint8Array.from(bytes),
  [INT2]: (bytes) => bytes.readInt16BE(),
  [INT4]: (bytes) => bytes.readInt32BE(),
  [FLOAT4]: (bytes) => bytes.readFloatBE(),
  [FLOAT8]: (bytes) => bytes.readDoubleBE(),
  [INT8]: (bytes) => {
    const exact = bytes.readBigInt64BE();
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  },
};

const asText: Parse = (bytes) => bytes.toString();

export const COLUMN_TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: string) =>
    format === 'binary'
      ? (PARSERS[oid] ?? asText)
      : (text: string) => text) as CustomTypesConfig['getTypeParser'],
};
