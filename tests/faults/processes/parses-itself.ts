// The service without its safeguard: large bodies are parsed on the thread that answers everybody.

import { parseBody } from '../../../packages/server/src/protocols/input/parse-body.ts';
import { serveWith } from './serve-with.ts';

await serveWith({
  largeBodies: {
    // oxlint-disable-next-line require-await
    parse: async (_, { bytes, rules, isKeyed }) => parseBody(bytes, rules, isKeyed),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  },
});
