import type { Sandbox, SandboxList } from '@mayfly/contract';

/** Later statuses do not go back to earlier ones, so an older record than the known one is recognised. */
const order: Readonly<Record<Sandbox['status'], number>> = {
  provisioning: 0,
  running: 1,
  deleting: 2,
  failed: 3,
  deleted: 4,
};

/** Returns the newer of two records of one sandbox. */
export function newerOf(known: Sandbox, told: Sandbox): Sandbox {
  return order[told.status] < order[known.status] ? known : told;
}

/**
 * Returns pages of the list, newest first, with the sandboxes as they were told: changed ones in place, new ones where their age belongs, and deleted ones
 * only if the list includes them. What belongs on a page that is not loaded is left out.
 */
export function applyChanges(
  pages: readonly SandboxList[],
  told: readonly Sandbox[],
  { includeDeleted }: { readonly includeDeleted: boolean },
): readonly SandboxList[] {
  const left = new Map(told.map((sandbox) => [sandbox.id, sandbox]));
  const isListed = ({ status }: Sandbox) => includeDeleted || status !== 'deleted';
  const changed = pages.map((page) => ({
    ...page,
    data: page.data
      .map((known) => {
        const sandbox = left.get(known.id);
        left.delete(known.id);
        return sandbox ? newerOf(known, sandbox) : known;
      })
      .filter(isListed),
  }));
  for (const sandbox of [...left.values()].filter(isListed)) insert(changed, sandbox);
  return changed;
}

function insert(pages: SandboxList[], sandbox: Sandbox): void {
  const index = pages.findIndex(({ data, has_more }, page) => {
    const oldest = data.at(-1);
    return oldest ? oldest.created_at < sandbox.created_at : page === pages.length - 1 && !has_more;
  });
  const isOldest = index === -1 && pages.at(-1)?.has_more === false;
  const at = isOldest ? pages.length - 1 : index;
  const page = pages[at];
  if (page === undefined) return;
  const before = page.data.findIndex(({ created_at }) => created_at < sandbox.created_at);
  pages[at] = { ...page, data: page.data.toSpliced(before === -1 ? page.data.length : before, 0, sandbox) };
}
