/** What a caller may name a request: visible ASCII characters. Any other name is replaced. */
export const requestIdPattern = /^[\x21-\x7e]{1,128}$/;
