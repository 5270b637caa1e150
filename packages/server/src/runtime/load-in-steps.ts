// Loads modules one by one, with a pause for others before each: a large package holds the thread for as long as it takes to
// compile and run all of its modules.

import { pauseForOthers } from './pause.ts';

export async function loadInSteps(modules: readonly string[]): Promise<void> {
  for (const name of modules) {
    await pauseForOthers();
    await import(name);
  }
  await pauseForOthers();
}
