export const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
/** The dashboard reads the same choice. */
const STORED = 'edged.theme'

export function storedTheme(): Theme {
  try {
    const name = localStorage.getItem(STORED)
    return THEMES.find((theme) => theme === name) ?? 'system'
  } catch {
    return 'system'
  }
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  try {
    localStorage.setItem(STORED, theme)
  } catch {
    // The browser stores nothing. The choice holds for this page.
  }
}
