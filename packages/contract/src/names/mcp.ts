// What the tool of an operation is called: `exportSchedules.list` is `export_schedules_list`. Dots are allowed by the
// protocol, but not by every host.

export function toolName(operation: string): string {
  return operation.replaceAll('.', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
