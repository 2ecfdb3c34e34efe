export function CreateSandbox(_: { readonly snapshotId: string | undefined; readonly onClose: () => void }) {
  return null;
}
