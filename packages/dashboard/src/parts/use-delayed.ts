import { useEffect, useState } from 'react';

/** Progress is shown from here on; before, it would only flicker. */
const noticeableMs = 500;

/** True once the flag has been set for half a second. */
export function useDelayed(flag: boolean): boolean {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    if (!flag) return;
    const timer = setTimeout(() => setIsLong(true), noticeableMs);
    return () => {
      clearTimeout(timer);
      setIsLong(false);
    };
  }, [flag]);
  return flag && isLong;
}
