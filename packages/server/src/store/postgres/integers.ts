import pg from 'pg';

/** Reads 64-bit integers as numbers; pg would give text. */
export const integerTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? parseInteger : pg.types.getTypeParser(oid, format),
};

/** Throws on an integer that a number cannot hold exactly. */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is no integer that a number holds exactly`);
  return value;
}
