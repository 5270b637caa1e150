// Waits for something to be so: long enough for the slowest machine, since a test that holds does not wait for it.

const PATIENCE_MS = 120_000;
const PAUSE_MS = 20;

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline)
      throw new Error(`it is not so after ${PATIENCE_MS / 1000} s: ${isSo.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
