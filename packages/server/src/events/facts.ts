// The facts that rules may ask of an event, read from either form of an event. Both give the same values.

import { parseJson } from '@tallystick/evidence';
import type { SentFacts } from '../policies/decide.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import type { Members } from './breaches.ts';
import type { ParsedEvent } from './validate-event.ts';
import type { PlainEvent } from './plain-event.ts';

type Content = ReturnType<EventFacts['content']>;

/** The facts of a plain event: each is parsed on first use. No check is needed, since a plain event follows the schema. */
export class PlainFacts implements SentFacts {
  readonly event: PlainEvent;

  constructor(event: PlainEvent) {
    this.event = event;
  }

  get hint(): SentFacts['hint'] {
    return this.event.classification;
  }

  get action(): SentFacts['action'] {
    return valueAt(this.event, this.event.action) as SentFacts['action'];
  }

  get actor(): SentFacts['actor'] {
    return valueAt(this.event, this.event.actor) as SentFacts['actor'];
  }

  get resource(): SentFacts['resource'] {
    return valueAt(this.event, this.event.resource) as SentFacts['resource'];
  }

  get outcome(): SentFacts['outcome'] {
    const { outcome } = this.event;
    return outcome === 0 ? 'Success' : (valueAt(this.event, outcome) as SentFacts['outcome']);
  }

  content(): Content {
    const { context, payload } = this.event;
    return {
      ...(context !== 0 && { context: valueAt(this.event, context) as Members }),
      ...(payload !== 0 && { payload: valueAt(this.event, payload) as Members }),
    };
  }
}

function valueAt({ outline }: PlainEvent, node: number): unknown {
  return parseJson(Buffer.from(outline.value(node)).toString());
}

export function parsedFacts({ sent, contentText }: ParsedEvent): SentFacts {
  return {
    hint: sent.classification,
    action: sent.action,
    actor: sent.actor,
    resource: sent.resource,
    outcome: sent.outcome ?? 'Success',
    content: () => parseJson(Buffer.from(contentText).toString()) as Content,
  };
}

/** Of a stored one, whose first text is read already. */
export function storedFacts(
  { action, actor, resource, outcome }: Omit<EventFacts, 'content'>,
  contentText: string,
): EventFacts {
  const content = () => parseJson(contentText) as Content;
  return { action, actor, resource, outcome, content };
}
