import { Menu as BaseMenu } from '@base-ui/react/menu'
import { signOut } from '../api/client.ts'
import type { PageRow } from '../page-row.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { usePermissions, type Place } from '../place.tsx'
import panel from '../parts/panel.module.css'
import logo from './logo.svg'
import { Palette } from './palette.tsx'
import { RangePicker } from './range.tsx'
import { ScopePicker } from './scope-picker.tsx'
import { useTheme, type Theme } from './theme.ts'
import styles from './shell.module.css'

/** The bar at the top: logo, zone or account, range, search, manual, theme, account. */
export function Head({
  page,
  place,
  isMenuOpen,
  onMenu,
}: {
  page: PageRow | undefined
  place: Place | undefined
  isMenuOpen: boolean
  onMenu: () => void
}) {
  return (
    <header className={styles['head']}>
      <span className={styles['burger']}>
        <IconButton icon="menu" label="Pages" aria-expanded={isMenuOpen} aria-controls="menu" onClick={onMenu} />
      </span>
      <img className={styles['logo']} src={logo} alt="edged" width="24" height="24" />
      <ScopePicker place={place} />
      <span className={styles['space']} />
      {place && <RangePicker />}
      {place && <Palette place={place} />}
      <a
        className={styles['iconLink']}
        href={`/docs/${page?.docs ?? ''}`}
        target="_blank"
        rel="noreferrer"
        aria-label="Manual"
        title="Manual"
      >
        <Icon name="circle-help" />
      </a>
      <ThemeButton />
      <AccountMenu />
    </header>
  )
}

const THEMES: readonly Theme[] = ['light', 'dark', 'system']
const THEME_ICONS = { light: 'sun', dark: 'moon', system: 'monitor' } as const

function ThemeButton() {
  const [theme, setTheme] = useTheme()
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!
  return (
    <span className={styles['theme']}>
      <IconButton
        icon={THEME_ICONS[theme]}
        label={`Theme: ${theme}`}
        title={`Theme: ${theme}. Click for ${next}.`}
        onClick={() => setTheme(next)}
      />
    </span>
  )
}

function AccountMenu() {
  const permissions = usePermissions()
  const token = permissions.value?.token
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={<Button kind="quiet" icon="user" aria-label="Account" />} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner className={panel['positioner']} align="end" sideOffset={6}>
          <BaseMenu.Popup className={panel['menu']}>
            <p className={styles['tokenName']}>
              Token <strong>{token?.name ?? '…'}</strong>
            </p>
            <BaseMenu.Item className={panel['item']} onClick={() => signOut()}>
              <Icon name="sign-out" /> Sign out
            </BaseMenu.Item>
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}
