// What a document shows of an answer, compared with the answer. An ellipsis stands for what the document leaves out.

import assert from 'node:assert/strict';

const LEFT_OUT = '…';

/** An ellipsis stands for anything in its line; one that has a line to itself, for any lines. */
export function shownText(shown: string): RegExp {
  return new RegExp(
    shown
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/^ *…$/gm, '[^]+')
      .replaceAll('…', '.+'),
  );
}

/**
 * Fails if JSON is not as it is shown. An ellipsis stands for any text; as a member, for any others; as the last item of a list,
 * for any number of them.
 */
export function assertShown(actual: unknown, shown: unknown, at = 'the answer'): void {
  if (shown === LEFT_OUT) return;
  if (Array.isArray(shown)) assertItems(actual, shown, at);
  else if (typeof shown === 'object' && shown !== null)
    assertMembers(actual, shown as Record<string, unknown>, at);
  else assert.deepEqual(actual, shown, at);
}

function assertItems(actual: unknown, shown: readonly unknown[], at: string): void {
  assert.ok(Array.isArray(actual), `${at} is a list`);
  const isCut = shown.at(-1) === LEFT_OUT;
  const items = isCut ? shown.slice(0, -1) : shown;
  assert.ok(
    isCut ? actual.length >= items.length : actual.length === items.length,
    `${at} has ${actual.length} items`,
  );
  for (const [i, item] of items.entries()) assertShown(actual[i], item, `${at}[${i}]`);
}

function assertMembers(actual: unknown, shown: Readonly<Record<string, unknown>>, at: string): void {
  assert.ok(typeof actual === 'object' && actual !== null, `${at} is an object`);
  const { [LEFT_OUT]: others, ...members } = shown;
  const has = actual as Readonly<Record<string, unknown>>;
  for (const [name, member] of Object.entries(members)) {
    assert.ok(Object.hasOwn(has, name), `${at} has ${name}`);
    assertShown(has[name], member, `${at}.${name}`);
  }
  if (others === undefined)
    assert.deepEqual(Object.keys(has).toSorted(), Object.keys(members).toSorted(), `the members of ${at}`);
}
