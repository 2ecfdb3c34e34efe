import type { Acknowledged, SentCommand, SentFile } from './acknowledged.ts';
import type { Api } from './api.ts';
import { ranPath } from './commands.ts';
import { type AuditedDatabase, readNumber } from './database.ts';

/** Every answer 200 to a command is found again as it was; everything that was accepted has ended. */
export const auditExecutions = async (
  database: AuditedDatabase,
  api: Api,
  { commands }: Acknowledged,
): Promise<string[]> => {
  const problems: string[] = [];
  for (const { answer, token } of commands) {
    if (answer === undefined) continue;
    const { status, body } = await api.ask('GET', `/executions/${answer.id}`);
    if (status !== 200) problems.push(`${answer.id} of ${token} answered 200 and is now ${status}`);
    else if (JSON.stringify(body) !== JSON.stringify(answer)) problems.push(`${answer.id} of ${token} has changed`);
  }
  const open = await readNumber(database, "select count(*) from executions where status = 'running'");
  return open === 0 ? problems : [...problems, `${open} executions have not ended`];
};

/** In a sandbox that runs: every write that was acknowledged is there, none is there in part, every command that was answered ran once. */
export const auditSandbox = async (api: Api, sandboxId: string, acknowledged: Acknowledged): Promise<string[]> => {
  const isMine = (sent: SentFile | SentCommand) => sent.sandboxId === sandboxId;
  const problems = await fileProblems(api, sandboxId, acknowledged.files.filter(isMine));
  return [...problems, ...(await commandProblems(api, sandboxId, acknowledged.commands.filter(isMine)))];
};

const fileProblems = async (api: Api, sandboxId: string, files: readonly SentFile[]): Promise<string[]> => {
  const problems: string[] = [];
  for (const { path, content, acknowledged } of files) {
    const { status, body } = await api.ask('GET', `/sandboxes/${sandboxId}/files?path=${path}`);
    if (status === 404 && !acknowledged) continue;
    if (status !== 200) problems.push(`${path} in ${sandboxId} answers ${status}`);
    else if (body.content !== content) problems.push(`${path} in ${sandboxId} is not as it was written`);
  }
  return problems;
};

const commandProblems = async (api: Api, sandboxId: string, commands: readonly SentCommand[]): Promise<string[]> => {
  const { status, body } = await api.ask('GET', `/sandboxes/${sandboxId}/files?path=${ranPath}`);
  const ran = status === 200 ? String(body.content).split('\n').filter(Boolean) : [];
  const counts = new Map(commands.map(({ token }) => [token, ran.filter((line) => line === token).length]));
  const wrong = commands.filter(({ token, answer }) => {
    const count = counts.get(token) ?? 0;
    return count > 1 || (count === 0 && answer !== undefined);
  });
  const completed = await countCompleted(api, sandboxId);
  return [
    ...wrong.map(({ token }) => `${token} in ${sandboxId} ran ${counts.get(token)} times`),
    ...(completed < ran.length ? [`${ran.length} commands ran in ${sandboxId}, ${completed} say so`] : []),
  ];
};

/** How many executions of a sandbox ended with a result, over all pages. */
const countCompleted = async (api: Api, sandboxId: string): Promise<number> => {
  let completed = 0;
  for (let after = ''; ; ) {
    const { body } = await api.ask('GET', `/sandboxes/${sandboxId}/executions?limit=100${after}`);
    const data = (body.data ?? []) as { readonly status: string }[];
    completed += data.filter(({ status }) => status === 'completed').length;
    if (typeof body.next_cursor !== 'string') return completed;
    after = `&starting_after=${body.next_cursor}`;
  }
};
