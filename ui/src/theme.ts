import { useEffect, useState } from 'preact/hooks'

export type Theme = 'system' | 'light' | 'dark'

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' }
const STORED = 'edged.theme'

export const nextTheme = (theme: Theme): Theme => NEXT[theme]

/** The colours of the page: those of the system, or the user's choice, which the browser stores. */
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
