import type { Reporter, TestModule } from 'vitest/node';

const maxFiles = 30;

interface SuiteTime {
  readonly seconds: number;
  readonly tests: number;
}

/** Prints at the end how long each test file took, slowest first, and the sums of the projects. */
export class SuiteTimes implements Reporter {
  // Vitest makes new objects for a module while it runs, but keeps its id.
  readonly #startedAtMs = new Map<string, number>();
  readonly #tookMs = new Map<string, number>();

  onTestModuleQueued(module: TestModule): void {
    this.#startedAtMs.set(module.id, performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#tookMs.set(module.id, this.#sinceStartMs(module));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules
      .map((module) => ({
        name: module.relativeModuleId,
        project: module.project.name,
        tests: [...module.children.allTests()].length,
        // A file that was ended has no end of its own.
        seconds: (this.#tookMs.get(module.id) ?? this.#sinceStartMs(module)) / 1_000,
      }))
      .toSorted((a, b) => b.seconds - a.seconds);
    const rest = files.slice(maxFiles);
    const projects = [...Map.groupBy(files, ({ project }) => project)];
    const rows = [
      ...files.slice(0, maxFiles).map((file) => row(file.name, [file])),
      ...(rest.length > 0 ? [row(`${rest.length} other files`, rest)] : []),
      '',
      ...projects.map(([project, own]) => row(`all of ${project}`, own)),
    ];
    process.stdout.write(`\n  seconds  tests  file\n${rows.join('\n')}\n\n`);
  }

  #sinceStartMs(module: TestModule): number {
    const nowMs = performance.now();
    return nowMs - (this.#startedAtMs.get(module.id) ?? nowMs);
  }
}

function row(title: string, times: readonly SuiteTime[]): string {
  const seconds = times.reduce((sum, time) => sum + time.seconds, 0);
  const tests = times.reduce((sum, time) => sum + time.tests, 0);
  return `  ${seconds.toFixed(1).padStart(7)}  ${String(tests).padStart(5)}  ${title}`;
}
