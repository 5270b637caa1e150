// How long work keeps the processor busy: what a claim about speed is held to, because how long it takes by the clock
// says as much about the other load of the machine.

/** Milliseconds of all threads of this process together. */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
