/** The mayfly, in the colour of the text around it. */
export function Logo({ size = 26 }: { readonly size?: number }) {
  return (
    <svg viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" className="shrink-0">
      <path
        d="M12 13.5C10.500 7.500 6.500 3.500 2 3c0 6 4 10.500 10 10.500Zm0 0C13.500 7.500 17.500 3.500 22 3c0 6-4 10.500-10 10.500Z"
        fill="currentColor"
      />
      <path
        d="M12 11v6m0 0c-.4 1.800-1.400 3.300-3 4.500m3-4.500c.4 1.800 1.400 3.300 3 4.500"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
      />
    </svg>
  );
}
