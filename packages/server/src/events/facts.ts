// The facts that rules may ask of an event, read from either form of an event. Both give the same values.

import { type JsonOutline, parseJson } from '@tallystick/evidence';
import type { EventFacts } from '../policies/event-facts.ts';
import type { Members } from './breaches.ts';
import type { ParsedEvent } from './validate-event.ts';
import type { PlainEvent } from './plain-event.ts';

type Content = ReturnType<EventFacts['content']>;

/** The facts of a plain event: each is read on first use. No check is needed, since a plain event follows the schema. */
export class PlainFacts implements EventFacts {
  readonly event: PlainEvent;
  readonly classification: EventFacts['classification'];
  readonly #ofRequest: EventFacts['correlationId'];
  #actor: EventFacts['actor'] | undefined;
  #resource: EventFacts['resource'] | undefined;
  #content: Content | undefined;

  /** `correlationId` is that of the request, for an event without one. */
  constructor(event: PlainEvent, correlationId: EventFacts['correlationId']) {
    this.event = event;
    this.classification = event.classification;
    this.#ofRequest = correlationId;
  }

  get action(): EventFacts['action'] {
    return textAt(this.event, this.event.action);
  }

  get actor(): EventFacts['actor'] {
    return (this.#actor ??= valueAt(this.event, this.event.actor) as EventFacts['actor']);
  }

  get resource(): EventFacts['resource'] {
    return (this.#resource ??= valueAt(this.event, this.event.resource) as EventFacts['resource']);
  }

  member(of: 'actor' | 'resource', name: string): string | undefined {
    const { outline, [of]: parent } = this.event;
    const end = outline.end(parent);
    for (let node = outline.first(parent); node < end; node = outline.next(node))
      if (isNamed(outline, node, name)) return textAt(this.event, node);
    return undefined;
  }

  get outcome(): EventFacts['outcome'] {
    const { outcome } = this.event;
    return outcome === 0 ? 'Success' : (textAt(this.event, outcome) as EventFacts['outcome']);
  }

  get correlationId(): EventFacts['correlationId'] {
    const { correlationId } = this.event;
    return correlationId === 0 ? this.#ofRequest : textAt(this.event, correlationId);
  }

  content(): Content {
    const { context, payload } = this.event;
    return (this.#content ??= {
      ...(context !== 0 && { context: valueAt(this.event, context) as Members }),
      ...(payload !== 0 && { payload: valueAt(this.event, payload) as Members }),
    });
  }
}

/** All names that the schema knows are ASCII, so each of their bytes is a character. */
function isNamed(outline: JsonOutline, node: number, name: string): boolean {
  const from = outline.keyFrom(node);
  if (outline.keyTo(node) - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (outline.bytes[from + i] !== name.charCodeAt(i)) return false;
  return true;
}

const BACKSLASH = 0x5c;

/** Most texts are ASCII without escapes, and those need no parser. */
function textAt({ outline }: PlainEvent, node: number): string {
  const { bytes } = outline;
  const from = outline.from(node);
  const to = outline.to(node);
  for (let i = from; i < to; i++)
    if (bytes[i]! >= 0x80 || bytes[i] === BACKSLASH)
      return parseJson(utf8Slice.call(bytes, from, to)) as string;
  return latin1Slice.call(bytes, from + 1, to - 1);
}

function valueAt({ outline }: PlainEvent, node: number): unknown {
  return parseJson(utf8Slice.call(outline.bytes, outline.from(node), outline.to(node)));
}

/** They read any bytes, and need no view of them. */
const { latin1Slice, utf8Slice } = Buffer.prototype;

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
