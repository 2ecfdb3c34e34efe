/** The operator's own certificate for previews: PEM files, as absolute paths. */
export interface TlsFiles {
  /** With its chain. */
  readonly certFile: string;
  readonly keyFile: string;
}

interface TlsSettings {
  readonly MAYFLY_TLS_CERT: string | undefined;
  readonly MAYFLY_TLS_KEY: string | undefined;
}

/** Both files, or undefined when none is given. */
export function tlsFilesFrom({ MAYFLY_TLS_CERT, MAYFLY_TLS_KEY }: TlsSettings): TlsFiles | undefined {
  if (MAYFLY_TLS_CERT === undefined || MAYFLY_TLS_KEY === undefined) return undefined;
  return { certFile: MAYFLY_TLS_CERT, keyFile: MAYFLY_TLS_KEY };
}

/** What is wrong if only one of the two is given. */
export function tlsFilesProblems({ MAYFLY_TLS_CERT, MAYFLY_TLS_KEY }: TlsSettings): readonly string[] {
  if ((MAYFLY_TLS_CERT === undefined) === (MAYFLY_TLS_KEY === undefined)) return [];
  const [missing, given] =
    MAYFLY_TLS_CERT === undefined ? ['MAYFLY_TLS_CERT', 'MAYFLY_TLS_KEY'] : ['MAYFLY_TLS_KEY', 'MAYFLY_TLS_CERT'];
  return [`${missing}: must be given together with ${given}`];
}
