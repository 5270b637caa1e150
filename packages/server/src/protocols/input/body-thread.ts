// The body thread: parses large bodies, so that a request that is hard to read keeps nobody else waiting. Entry of a
// worker.

import { giveBack } from '../../runtime/give-back.ts';
import { ownBuffers, serveThread } from '../../runtime/thread.ts';
import { type BodyRules, parseBody } from './parse-body.ts';

export interface BodyMessage {
  readonly bytes: Uint8Array;
  readonly rules: BodyRules;
  readonly isKeyed: boolean;
}

serveThread<BodyMessage>({
  answer({ bytes, rules, isKeyed }) {
    const parsed = parseBody(bytes, rules, isKeyed);
    giveBack(bytes);
    return { value: parsed, handOver: 'value' in parsed ? [] : ownBuffers(parsed.text, parsed.nodes) };
  },
  stop: () => {},
});
