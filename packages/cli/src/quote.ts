/** Quotes one argument for bash. */
export function quote(argument: string): string {
  return /^[A-Za-z0-9_/.:=@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
