/** Where every command notes that it ran. */
export const ranPath = '/workspace/ran';

/** A command and how it ends. */
export interface SampleCommand {
  readonly command: string;
  readonly stdout: string;
  readonly exitCode: number;
}

const steps = ['1', '2', '3', '4', '5'];

/** The kinds of commands that clients run; each notes its token before anything else. */
export const commandKinds = {
  quick: (token: string): SampleCommand => ({
    command: `echo ${token} | tee -a ${ranPath}`,
    stdout: `${token}\n`,
    exitCode: 0,
  }),
  failing: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; exit 3`,
    stdout: '',
    exitCode: 3,
  }),
  slow: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; for i in ${steps.join(' ')}; do echo ${token} $i; sleep 0.4; done`,
    stdout: steps.map((step) => `${token} ${step}\n`).join(''),
    exitCode: 0,
  }),
  large: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; head -c 300000 /dev/zero | tr '\\0' x; echo ${token}`,
    stdout: `${'x'.repeat(300_000)}${token}\n`,
    exitCode: 0,
  }),
} as const;
