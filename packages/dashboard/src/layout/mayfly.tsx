// A mayfly with the veins of its wings, drawn from a few proportions. Angles are in radians, lengths in units of the view box.

const root = { x: 400, y: 330 };
const frontAngle = 0.98;
const hindAngle = 0.03;
const wingLength = 400;
const veinCount = 17;
const firstCrossing = 0.16;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** How far a wing reaches: long in front with a rounded tip, short behind with a rounded corner. */
function reach(across: number): number {
  const tip = 0.14 * Math.max(0, (across - 0.8) / 0.2) ** 2.2;
  const corner = 0.1 * Math.max(0, (0.16 - across) / 0.16) ** 2;
  return 0.56 + 0.44 * Math.sin(Math.min(1, across / 0.82) * (Math.PI / 2)) - tip - corner;
}

/** A point of the right forewing: `across` goes from the hind margin (0) to the front margin (1), `along` from the body (0) to the outer margin (1). */
function pointAt(across: number, along: number): Point {
  const bend = 0.24 * (1 - along) * (0.55 - across) + 0.05 * Math.sin(along * Math.PI) * across;
  const angle = hindAngle + (frontAngle - hindAngle) * across + bend;
  const length = wingLength * reach(across) * along;
  return { x: root.x + length * Math.cos(angle), y: root.y - length * Math.sin(angle) };
}

function line(points: readonly Point[]): string {
  return points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Every second vein begins further out, between two that come from the body. */
function veinStart(vein: number): number {
  return vein % 2 === 0 ? 0 : 0.24 + 0.07 * (vein % 3);
}

const outline = line(range(81).map((step) => pointAt(step / 80, 1)));
const veins = range(veinCount)
  .map((vein) => {
    const start = veinStart(vein);
    return line(range(25).map((step) => pointAt(vein / (veinCount - 1), start + ((1 - start) * step) / 24)));
  })
  .join('');
const crossings = range(veinCount - 1)
  .flatMap((vein) => {
    const start = Math.max(firstCrossing, veinStart(vein), veinStart(vein + 1)) + 0.02;
    const count = 6 + (vein % 3) + Math.round(vein / 2);
    return range(count).map((index) => {
      const along = start + ((0.98 - start) * (index + 0.5 * (vein % 2))) / count;
      return line([pointAt(vein / (veinCount - 1), along), pointAt((vein + 1) / (veinCount - 1), along)]);
    });
  })
  .join('');

const body =
  'M400 306c-7 0-11 6-11 14 0 10 3 20 5 34 2 22 3 52 4 84 0 8 1 12 2 12s2-4 2-12c1-32 2-62 4-84 2-14 5-24 5-34 0-8-4-14-11-14Z';
const rings = 'M392 340h16M394 360h12M395 380h10M396 400h8M397 420h6';
const tails = 'M400 448c-6 60-28 118-74 166M400 448c0 70-2 128-6 182M400 448c6 60 28 118 74 166';
const antennae = 'M396 306c-3-12-9-20-17-25M404 306c3-12 9-20 17-25';

/** Decoration in the colour of the text around it. */
export function Mayfly({ className }: { readonly className: string }) {
  return (
    <svg viewBox="0 0 800 650" aria-hidden="true" className={className} fill="none" stroke="currentColor">
      <Wings />
      <g transform="matrix(-1 0 0 1 800 0)">
        <Wings />
      </g>
      <path d={tails} strokeWidth="1.4" strokeLinecap="round" />
      <path d={antennae} strokeWidth="1.2" strokeLinecap="round" />
      <path d={body} fill="currentColor" fillOpacity="0.16" strokeWidth="1.4" />
      <path d={rings} strokeWidth="0.9" opacity="0.7" />
    </svg>
  );
}

function Wings() {
  return (
    <>
      <Wing />
      <g transform="translate(400 342) rotate(34) scale(0.36) translate(-400 -330)">
        <Wing isSmall />
      </g>
    </>
  );
}

/** The hindwing is the forewing at a third of its size, with lines of the same weight. */
function Wing({ isSmall = false }: { readonly isSmall?: boolean }) {
  const weight = isSmall ? 1.9 : 1;
  return (
    <>
      {!isSmall && <path d={crossings} strokeWidth={0.6} opacity="0.6" />}
      <path d={veins} strokeWidth={0.9 * weight} opacity="0.8" />
      <path d={outline} strokeWidth={1.5 * weight} strokeLinecap="round" />
    </>
  );
}
