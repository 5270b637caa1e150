// The facts that rules may ask of an event, read from either form of an event. Both give the same values.

import { parseJson } from '@tallystick/evidence';
import type { EventFacts } from '../policies/event-facts.ts';
import type { Members } from './breaches.ts';
import type { ParsedEvent } from './validate-event.ts';
import type { PlainEvent } from './plain-event.ts';

type Content = ReturnType<EventFacts['content']>;

/** The facts of a plain event: each is parsed on first use. No check is needed, since a plain event follows the schema. */
export class PlainFacts implements EventFacts {
  readonly event: PlainEvent;
  readonly #ofRequest: EventFacts['correlationId'];
  #action: EventFacts['action'] | undefined;
  #actor: EventFacts['actor'] | undefined;
  #resource: EventFacts['resource'] | undefined;
  #content: Content | undefined;

  /** `correlationId` is that of the request, for an event without one. */
  constructor(event: PlainEvent, correlationId: EventFacts['correlationId']) {
    this.event = event;
    this.#ofRequest = correlationId;
  }

  get classification(): EventFacts['classification'] {
    return this.event.classification;
  }

  get action(): EventFacts['action'] {
    return (this.#action ??= valueAt(this.event, this.event.action) as EventFacts['action']);
  }

  get actor(): EventFacts['actor'] {
    return (this.#actor ??= valueAt(this.event, this.event.actor) as EventFacts['actor']);
  }

  get resource(): EventFacts['resource'] {
    return (this.#resource ??= valueAt(this.event, this.event.resource) as EventFacts['resource']);
  }

  get outcome(): EventFacts['outcome'] {
    const { outcome } = this.event;
    return outcome === 0 ? 'Success' : (valueAt(this.event, outcome) as EventFacts['outcome']);
  }

  get correlationId(): EventFacts['correlationId'] {
    const { correlationId } = this.event;
    return correlationId === 0
      ? this.#ofRequest
      : (valueAt(this.event, correlationId) as EventFacts['correlationId']);
  }

  content(): Content {
    const { context, payload } = this.event;
    return (this.#content ??= {
      ...(context !== 0 && { context: valueAt(this.event, context) as Members }),
      ...(payload !== 0 && { payload: valueAt(this.event, payload) as Members }),
    });
  }
}

function valueAt({ outline }: PlainEvent, node: number): unknown {
  return parseJson(utf8Slice.call(outline.bytes, outline.from(node), outline.to(node)));
}

/** It reads any bytes, and needs no view of them. */
const { utf8Slice } = Buffer.prototype;

/** `correlationId` is that of the request, for an event without one. */
export function parsedFacts(
  { sent, contentText }: ParsedEvent,
  correlationId: EventFacts['correlationId'],
): EventFacts {
  return {
    classification: sent.classification,
    action: sent.action,
    actor: sent.actor,
    resource: sent.resource,
    outcome: sent.outcome ?? 'Success',
    correlationId: sent.correlationId ?? correlationId,
    content: parsedOnce(() => Buffer.from(contentText).toString()),
  };
}

/** Of a stored one, whose first text is read already. */
export function storedFacts(
  { action, actor, resource, outcome, classification, correlationId }: Omit<EventFacts, 'content'>,
  contentText: string,
): EventFacts {
  const content = parsedOnce(() => contentText);
  return { action, actor, resource, outcome, classification, correlationId, content };
}

function parsedOnce(text: () => string): () => Content {
  let content: Content | undefined;
  return () => (content ??= parseJson(text()) as Content);
}
