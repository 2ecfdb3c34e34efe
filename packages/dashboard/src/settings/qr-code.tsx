import encodeQR from 'qr';

interface QrCodeProps {
  readonly text: string;
  readonly label: string;
}

/** A QR code, drawn here: what is in it leaves the page only through the camera. Dark on white in both themes, as scanners expect. */
export function QrCode({ text, label }: QrCodeProps) {
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: 2 });
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
      className="size-50 rounded-md border border-line bg-[#ffffff]"
    >
      <path d={path} fill="#101114" />
    </svg>
  );
}
