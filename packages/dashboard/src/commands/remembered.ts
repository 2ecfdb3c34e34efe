/** A command that was started here. The service keeps the output of commands, but not the commands. */
export interface RememberedCommand {
  readonly id: string;
  readonly command: string;
}

const mostCommands = 200;

function keyOf(sandboxId: string): string {
  return `commands ${sandboxId}`;
}

/** Returns the commands that were started in this browser tab, the newest last. They are gone with the tab. */
export function rememberedCommands(sandboxId: string): readonly RememberedCommand[] {
  try {
    return readCommands(sessionStorage.getItem(keyOf(sandboxId)));
  } catch {
    return [];
  }
}

export function rememberCommand(sandboxId: string, command: RememberedCommand): void {
  try {
    const commands = [...rememberedCommands(sandboxId), command].slice(-mostCommands);
    sessionStorage.setItem(keyOf(sandboxId), JSON.stringify(commands));
  } catch {
    // Without storage, or with a full one, the command has no name after a reload.
  }
}

/** Returns what is stored, without what is not a command. */
export function readCommands(stored: string | null): readonly RememberedCommand[] {
  if (stored === null) return [];
  const value: unknown = JSON.parse(stored);
  return Array.isArray(value) ? value.filter(isCommand) : [];
}

function isCommand(value: unknown): value is RememberedCommand {
  if (typeof value !== 'object' || value === null) return false;
  const { id, command } = value as Record<string, unknown>;
  return typeof id === 'string' && typeof command === 'string';
}
