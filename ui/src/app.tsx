import { useEffect, useRef, useState } from 'preact/hooks'
import { isSignedIn, signIn, signOut, whenSignedOut } from './api.ts'
import { useRead, useRoute, useWork } from './hooks.ts'
import { PAGES } from './pages/index.ts'
import { Choice, Loaded, Problem, TextField } from './parts.tsx'
import { PlaceContext, type Account, type Zone } from './place.ts'
import { nextTheme, useTheme } from './theme.ts'

/** The dashboard: asks for a token first. */
export function App() {
  const [signedIn, setSignedIn] = useState(isSignedIn())
  const [reason, setReason] = useState<string>()
  whenSignedOut((why) => {
    setReason(why)
    setSignedIn(false)
  })
  return signedIn ? <Shell /> : <SignIn reason={reason} onDone={() => setSignedIn(true)} />
}

function SignIn({ reason, onDone }: { reason: string | undefined; onDone: () => void }) {
  const [token, setToken] = useState('')
  const [remember, setRemember] = useState(false)
  const { busy, error, run } = useWork()
  return (
    <main class="sign-in">
      <h1>edged</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(async () => {
            await signIn(token, remember)
            onDone()
          })
        }}
      >
        <TextField
          label="API token"
          secret
          value={token}
          onInput={setToken}
          required
          hint="From the configuration file, or made with: edged token create"
        />
        <label class="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />
          Keep it until this tab is closed
        </label>
        <Problem text={error ?? (busy ? undefined : reason)} />
        <button type="submit" class="main" disabled={busy || token === ''}>
          Sign in
        </button>
      </form>
      <p class="soft">
        Without the tick the token is only in the memory of this page. The API is described in the{' '}
        <a href="/docs/">documentation</a>.
      </p>
    </main>
  )
}

function Shell() {
  const accounts = useRead<readonly Account[]>('/accounts?per_page=50')
  const [chosen, setChosen] = useState<string>()
  return (
    <Loaded read={accounts}>
      {(list) => {
        const account = list.find(({ id }) => id === chosen) ?? list[0]
        return account ? (
          <Pages key={account.id} account={account} accounts={list} onAccount={setChosen} />
        ) : (
          <main class="sign-in">
            <h1>edged</h1>
            <p>This token sees no account.</p>
            <button type="button" onClick={() => signOut()}>
              Sign out
            </button>
          </main>
        )
      }}
    </Loaded>
  )
}

function Pages({
  account,
  accounts,
  onAccount,
}: {
  account: Account
  accounts: readonly Account[]
  onAccount: (id: string) => void
}) {
  const route = useRoute()
  const zones = useRead<readonly Zone[]>(`/zones?per_page=50&account.id=${account.id}`)
  const [chosen, setChosen] = useState<string>()
  const list = zones.value ?? []
  const zone = list.find(({ id }) => id === chosen) ?? list[0]
  const page = PAGES.find(({ path }) => path === route) ?? PAGES[0]!
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(true)
  useEffect(() => {
    document.title = `${page.title} · edged`
    // Screen readers continue at the new page, not at the link.
    if (!first.current) heading.current?.focus()
    first.current = false
  }, [page])
  const { Page } = page
  return (
    <PlaceContext.Provider value={{ account, zone }}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), heading.current?.focus())}>
        To the content
      </a>
      <header>
        <strong>edged</strong>
        {accounts.length > 1 && (
          <Choice
            label="Account"
            value={account.id}
            options={accounts.map(({ id, name }) => [id, name] as const)}
            onChange={onAccount}
          />
        )}
        {zone && (
          <Choice
            label="Zone"
            value={zone.id}
            options={list.map(({ id, name }) => [id, name] as const)}
            onChange={setChosen}
          />
        )}
        <span class="space" />
        <ThemeButton />
        <a href="/docs/">Documentation</a>
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </header>
      <nav aria-label="Pages">
        <ul>
          {PAGES.map(({ path, title }) => (
            <li key={path}>
              <a href={`#${path}`} aria-current={path === page.path ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content">
        <h1 ref={heading} tabIndex={-1}>
          {page.title}
        </h1>
        <Problem text={zones.error} />
        {zones.value && (page.needsZone && !zone ? <p>This account has no zone.</p> : <Page key={zone?.id} />)}
      </main>
    </PlaceContext.Provider>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useTheme()
  const next = nextTheme(theme)
  return (
    <button type="button" onClick={() => setTheme(next)}>
      {`Use ${next === 'system' ? 'the system’s theme' : `the ${next} theme`}`}
    </button>
  )
}
