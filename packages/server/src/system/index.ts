/** The entry `@mayfly/server/system`: running programs and locking files. */
export { tryLock } from './lock-file.ts';
export { ProgramFailed, type RunProgramOptions, runProgram } from './run-program.ts';
