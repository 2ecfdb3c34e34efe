// A script of its own that the page waits for, so that it never flashes in the other theme. It has no imports: it is not bundled.
try {
  const theme = localStorage.getItem('mayfly-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage can be forbidden; the device decides then.
}
