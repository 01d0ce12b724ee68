import { useEffect, useState } from 'preact/hooks'

export type Theme = 'system' | 'light' | 'dark'

const STORED = 'edged.theme'

/** Returns the theme that the button sets: the one that the system does not have, then the other one, then the system's. */
export function nextTheme(theme: Theme): Theme {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  const [own, other] = isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)
  if (theme === 'system') return other
  return theme === other ? own : 'system'
}

/** The colours of the page: the system's, or the user's choice, which the browser stores. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = localStorage.getItem(STORED)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  })
  useEffect(() => {
    localStorage.setItem(STORED, theme)
    document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme
  }, [theme])
  return [theme, setTheme]
}
