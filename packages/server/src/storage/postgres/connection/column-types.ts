// Converts columns. Rows come as text, since the driver decodes everything as UTF-8 and so breaks the binary form;
// integers become numbers if they are exact, otherwise bigints, which the reader of the column refuses.

import type { CustomTypesConfig } from 'pg';

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const FLOAT4 = 700;
const FLOAT8 = 701;

type Parse = (text: string) => unknown;

const PARSERS: Readonly<Record<number, Parse>> = {
  [BOOL]: (text) => text === 't',
  // Skips the `\x`. A copy: a small Buffer is a slice of a larger one, which it would keep in memory.
  [BYTEA]: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
  [INT2]: Number,
  [INT4]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [INT8]: (text) => {
    const number = Number(text);
    return Number.isSafeInteger(number) ? number : BigInt(text);
  },
};

const asItIs: Parse = (text) => text;

export const COLUMN_TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number) => PARSERS[oid] ?? asItIs) as CustomTypesConfig['getTypeParser'],
};
