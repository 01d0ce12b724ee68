import { useEffect, useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const STORED = 'edged.theme'

/** The colours of the page: the system's, or the user's choice, which the browser stores. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = localStorage.getItem(STORED)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  })
  useEffect(() => {
    localStorage.setItem(STORED, theme)
    document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme
    dispatchEvent(new Event('themechange'))
  }, [theme])
  return [theme, setTheme]
}
