import { useEffect, useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'];
const KEY = 'holdfast-theme';

function storedTheme() {
  try {
    return localStorage.getItem(KEY) ?? 'system';
  } catch {
    return 'system'; // storage is switched off
  }
}

/** @returns {[string, () => void]} the theme, and what goes to the next one */
export function useTheme() {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      return; // it lasts as long as the page, then
    }
  }, [theme]);
  return [theme, () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}
