/** One message that names every failing rule once, joined by "; ". */
export function describeFailedRules(issues: readonly { readonly message: string }[]): string {
  return [...new Set(issues.map((issue) => issue.message))].join('; ');
}
