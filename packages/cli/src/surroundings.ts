/** What a command reads and writes; a process is one. */
export interface Surroundings {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}
