// Changing a record only if it is still the one that was read.

import { optional } from '../schema.ts';
import { Type } from '../type.ts';

// `*`, or entity tags separated by commas, with nothing between some of them (RFC 9110, 5.6.1, 8.8.3, 13.1.1).
const TAG = '(W/)?"[^"\\x00-\\x20\\x7F]*"';

export const ifMatch = optional(
  Type.String({
    pattern: `^(\\*|[ \\t,]*${TAG}([ \\t]*,[ \\t,]*${TAG})*[ \\t,]*)$`,
    'x-expected': 'the ETag of an answer, quotes included, like "3", or several with commas between, or *',
    description: 'Go on only if it still has one of these ETags; `*` is any.',
  }),
);

export const inIfMatch = { ifMatch: 'If-Match' };
export const versionTag = { ETag: '"{version}"' };
