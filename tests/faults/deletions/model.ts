// What must be known of the events of a world of deletions.

import { newCanary } from './traces.ts';

/** Fields that redactions are about; each event has all of them, with a word of its own. */
export const FIELDS = ['payload.iban', 'payload.note', 'context.device'] as const;
export type Field = (typeof FIELDS)[number];

/** Content of this resource type expires at once, other content never while the test runs. */
export const SHORT_LIVED = 'Cart';

export interface KnownEvent {
  readonly eventId: string;
  readonly person: string;
  readonly sequence: number;
  readonly isShortLived: boolean;
  readonly words: Readonly<Record<Field, string>>;
  /** The fields that are gone for good. */
  readonly gone: Set<Field>;
  isErased: boolean;
  /** It is erased when its last hold ends. */
  isErasureOwed: boolean;
  /** It was purged before a hold could cover it. */
  isPurged: boolean;
  /** With all content of the tenant; owed, as above. */
  isGone: boolean;
  isGoneOwed: boolean;
  /** It is of a log that ended with a restore: nothing more goes, since no notice can follow. */
  isFrozen: boolean;
}

export interface KnownHold {
  readonly holdId: string;
  readonly covers: (event: KnownEvent) => boolean;
}

export const newWords = () => ({
  'payload.iban': newCanary(),
  'payload.note': newCanary(),
  'context.device': newCanary(),
});

export function knownEvent(
  sent: Pick<KnownEvent, 'eventId' | 'person' | 'sequence' | 'isShortLived' | 'words'>,
): KnownEvent {
  return {
    ...sent,
    gone: new Set(),
    isErased: false,
    isErasureOwed: false,
    isPurged: false,
    isGone: false,
    isGoneOwed: false,
    isFrozen: false,
  };
}

export function isTombstone({ isPurged, isGone }: KnownEvent): boolean {
  return isPurged || isGone;
}

/** The words of which nothing may be left. */
export function goneWords(event: KnownEvent): string[] {
  const isWhole = isTombstone(event) || event.isErased;
  return FIELDS.filter((field) => isWhole || event.gone.has(field)).map((field) => event.words[field]);
}

/** As they are now, whatever becomes of them. */
export function copyOf(events: readonly KnownEvent[]): KnownEvent[] {
  return events.map((event) => ({ ...event, gone: new Set(event.gone) }));
}
