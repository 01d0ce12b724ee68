/** Sets the theme before the page is drawn. */
import { storedTheme } from './theme.ts'

document.documentElement.dataset['theme'] = storedTheme()
