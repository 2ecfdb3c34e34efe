/** The states of a terminal's parser (https://vt100.net/emu/dec_ansi_parser), numbered as in xterm.js. */
export const vt = {
  ground: 0,
  escape: 1,
  escapeIntermediate: 2,
  csiEntry: 3,
  csiParam: 4,
  csiIntermediate: 5,
  csiIgnore: 6,
  /** Inside SOS, PM and APC. */
  ignoredString: 7,
  oscString: 8,
  dcsEntry: 9,
  dcsParam: 10,
  dcsIgnore: 11,
  dcsIntermediate: 12,
  dcsPayload: 13,
} as const;

export type VtState = (typeof vt)[keyof typeof vt];

const esc = 0x1b;
const bel = 0x07;
const can = 0x18;
const sub = 0x1a;
const del = 0x7f;

/** Returns the state after a character, exactly as xterm.js changes it. A test compares the two. */
export function nextState(state: VtState, code: number): VtState {
  if (code === esc) return vt.escape;
  if (code === can || code === sub) return vt.ground;
  if (code >= 0x80 && code < 0xa0) return afterC1(code);
  switch (state) {
    case vt.ground:
      return vt.ground;
    case vt.oscString:
      return code === bel ? vt.ground : vt.oscString;
    case vt.dcsPayload:
    case vt.dcsIgnore:
      return state;
    case vt.ignoredString:
      // xterm.js leaves these strings at the first character that is not ascii.
      return code >= 0xa0 ? vt.ground : state;
    case vt.csiIgnore:
      return code >= 0x40 && code < del ? vt.ground : state;
    case vt.escape:
    case vt.escapeIntermediate:
    case vt.csiEntry:
    case vt.csiParam:
    case vt.csiIntermediate:
    case vt.dcsEntry:
    case vt.dcsParam:
    case vt.dcsIntermediate:
      if (code < 0x20 || code === del) return state;
      return code > del ? vt.ground : afterPrintable(state, code);
  }
}

/** After a control character of the range 0x80 to 0x9f, which has the same meaning in all states. */
function afterC1(code: number): VtState {
  switch (code) {
    case 0x90:
      return vt.dcsEntry;
    case 0x98:
    case 0x9e:
    case 0x9f:
      return vt.ignoredString;
    case 0x9b:
      return vt.csiEntry;
    case 0x9d:
      return vt.oscString;
    default:
      return vt.ground;
  }
}

type InSequence = Exclude<
  VtState,
  | typeof vt.ground
  | typeof vt.csiIgnore
  | typeof vt.ignoredString
  | typeof vt.oscString
  | typeof vt.dcsIgnore
  | typeof vt.dcsPayload
>;

/** After a character of the range 0x20 to 0x7e inside an escape sequence. */
function afterPrintable(state: InSequence, code: number): VtState {
  const isIntermediate = code < 0x30;
  const isParam = code >= 0x30 && code < 0x40;
  const isPrefix = code >= 0x3c && code < 0x40;
  switch (state) {
    case vt.escape:
      return isIntermediate ? vt.escapeIntermediate : afterEscape(code);
    case vt.escapeIntermediate:
      return isIntermediate ? state : vt.ground;
    case vt.csiEntry:
      if (isIntermediate) return vt.csiIntermediate;
      return isParam ? vt.csiParam : vt.ground;
    case vt.csiParam:
      if (isIntermediate) return vt.csiIntermediate;
      if (isPrefix) return vt.csiIgnore;
      return isParam ? state : vt.ground;
    case vt.csiIntermediate:
      if (isIntermediate) return state;
      return isParam ? vt.csiIgnore : vt.ground;
    case vt.dcsEntry:
      if (isIntermediate) return vt.dcsIntermediate;
      return isParam ? vt.dcsParam : vt.dcsPayload;
    case vt.dcsParam:
      if (isIntermediate) return vt.dcsIntermediate;
      if (isPrefix) return vt.dcsIgnore;
      return isParam ? state : vt.dcsPayload;
    case vt.dcsIntermediate:
      if (isIntermediate) return state;
      return isParam ? vt.dcsIgnore : vt.dcsPayload;
  }
}

function afterEscape(code: number): VtState {
  switch (String.fromCharCode(code)) {
    case '[':
      return vt.csiEntry;
    case ']':
      return vt.oscString;
    case 'P':
      return vt.dcsEntry;
    case 'X':
    case '^':
    case '_':
      return vt.ignoredString;
    default:
      return vt.ground;
  }
}
