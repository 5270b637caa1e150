// A reply that lasts until its reader goes, its time is over, or the service drains. A reader that comes back goes on from there.

import { AuditError } from '@tallystick/contract';
import { asAuditError } from '../../gateway/shown-error.ts';
import type { Exchange } from '../http/mount.ts';
import type { LastingAnswer, LastingAnswers } from '../streaming/lasting-answers.ts';
import { type CallParts, shown } from './call.ts';
import { type CallForm, timeoutMsOf } from './form.ts';
import { type CallReply, streamReply } from './reply.ts';
import { type Wait, waitOf } from './sender-waits.ts';

export interface Lasting extends Disposable {
  readonly answer: LastingAnswer;
  readonly wait: Wait;
}

/** Throws where there are too many. */
export function beginLasting(
  exchange: Exchange,
  whose: string,
  among: LastingAnswers,
  { gateway }: Pick<CallParts, 'gateway'>,
): Lasting {
  const wait = waitOf(exchange, timeoutMsOf(exchange.request.headers), gateway.clock);
  try {
    const answer = among.begin(whose);
    wait.gone.addEventListener('abort', () => answer.leave());
    if (wait.gone.aborted) answer.leave();
    return {
      answer,
      wait,
      [Symbol.dispose]() {
        wait[Symbol.dispose]();
        answer[Symbol.dispose]();
      },
    };
  } catch (error) {
    wait[Symbol.dispose]();
    throw error;
  }
}

/** What goes wrong after its beginning ends it with its status. */
export function lastingReply(
  exchange: Exchange,
  form: CallForm,
  lasting: Lasting,
  messages: AsyncIterable<Uint8Array>,
  parts: CallParts,
): CallReply {
  const { answer, wait } = lasting;
  const whole = async function* () {
    using _ = lasting;
    yield* messages;
    if (answer.signal.reason === 'Draining')
      throw new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping; go on where this stream ends.');
    if (wait.isLate()) throw new AuditError('SERVICE_UNAVAILABLE', 'The time of the call is over.');
  };
  return streamReply(form, whole(), (error) =>
    shown(asAuditError(error, exchange, parts.telemetry), exchange, parts, wait.isLate()),
  );
}
