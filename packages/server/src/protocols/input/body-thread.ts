// The body thread: parses large bodies, so that a request that is hard to read keeps nobody else waiting. Entry of a
// worker.

import { giveBack } from '../../runtime/give-back.ts';
import { ownBuffers, serveThread } from '../../runtime/thread.ts';
import type { MessageForm } from '../protobuf/message-form.ts';
import { type BodyRules, parseBody } from './parse-body.ts';

export interface BodyMessage {
  readonly bytes: Uint8Array;
  readonly rules: BodyRules;
  readonly isKeyed: boolean;
  /** The bytes are no JSON of the contract yet, but a message of a call. */
  readonly form?: MessageForm;
}

serveThread<BodyMessage>({
  async answer({ bytes, rules, isKeyed, form }) {
    const parsed =
      form === undefined
        ? parseBody(bytes, rules, isKeyed)
        : (await messageForm()).parseMessage(bytes, form, rules, isKeyed);
    giveBack(bytes);
    return { value: parsed, handOver: 'value' in parsed ? [] : ownBuffers(parsed.text, parsed.nodes) };
  },
  stop: () => {},
});

/** Loaded by the first one: the plans of all messages take a moment. */
const messageForm = () => import('../protobuf/message-form.ts');
