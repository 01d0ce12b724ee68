import { useEffect, useRef, useState } from 'preact/hooks'
import { isSignedIn, signIn, signOut, whenSignedOut } from './api.ts'
import { hashOf, useRead, useRoute, useWork, type Route } from './hooks.ts'
import { PAGES } from './pages/index.ts'
import { Problem, TextField, Unread } from './parts.tsx'
import { Picker } from './picker.tsx'
import { findAccounts, findZones, PlaceContext, type Account, type Zone } from './place.ts'
import { nextTheme, useTheme } from './theme.ts'

/** The dashboard: asks for a token first, and again when the API no longer accepts it. */
export function App() {
  const [session, setSession] = useState<'none' | 'active' | 'ended'>(isSignedIn() ? 'active' : 'none')
  const [reason, setReason] = useState<string>()
  whenSignedOut((why) => {
    setReason(why)
    setSession((old) => (why === undefined || old === 'none' ? 'none' : 'ended'))
  })
  return (
    <>
      {/* What the user has typed outlives the token. */}
      {session !== 'none' && (
        <div class="shell" hidden={session === 'ended'}>
          <Shell />
        </div>
      )}
      {session !== 'active' && <SignIn reason={reason} onDone={() => setSession('active')} />}
    </>
  )
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
          error={error}
          value={token}
          onInput={setToken}
          required
          hint="From the configuration file, or made with: edged token create"
        />
        <label class="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />
          Keep it until this tab is closed
        </label>
        <Problem
          text={busy || error !== undefined || reason === undefined ? undefined : `The session has ended: ${reason}`}
        />
        <button type="submit" class="main" aria-disabled={busy}>
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
  const route = useRoute()
  const { account, zone, totalAccounts, reads, lost } = useNamedPlace(route)
  const failed = reads.find(({ error }) => error !== undefined)
  const isLoading = failed === undefined && reads.some(({ value }) => value === undefined)
  if (account && !isLoading)
    return <Pages key={account.id} {...{ route, account, zone, lost }} hasAccounts={totalAccounts > 1} />
  return (
    <main class="sign-in">
      <h1>edged</h1>
      {failed ? (
        <Unread read={failed} />
      ) : (
        <p class="soft">{isLoading ? 'Loading…' : 'This token sees no account and no zone.'}</p>
      )}
      <button type="button" onClick={() => signOut()}>
        Sign out
      </button>
    </main>
  )
}

/** Reads the account and the zone that the address names; without a name, the first ones that the token sees. */
function useNamedPlace(route: Route) {
  const named = useRead<Zone>(route.zone && `/zones/${encodeURIComponent(route.zone)}`)
  const byId = useRead<Account>(
    route.zone === undefined && route.account ? `/accounts/${encodeURIComponent(route.account)}` : undefined,
  )
  const accounts = useRead<readonly Account[]>('/accounts?per_page=1')
  // Deleted, or of another installation.
  const lost = [named, byId].some(({ status }) => status === 403 || status === 404)
  const account = named.value?.account ?? byId.value ?? accounts.value?.[0]
  const name = lost ? undefined : route.zone ? named : route.account ? byId : undefined
  const needsFirst = name !== named && accounts.value !== undefined && (name === undefined || byId.value !== undefined)
  const first = useRead<readonly Zone[]>(
    needsFirst ? `/zones?per_page=1${account ? `&account.id=${account.id}` : ''}` : undefined,
  )
  const zone = named.value ?? first.value?.[0]
  const reads = [accounts, name, needsFirst ? first : undefined].filter((read) => read !== undefined)
  // A token for zones alone sees their account in them.
  return { account: account ?? zone?.account, zone, totalAccounts: accounts.info?.total_count ?? 0, reads, lost }
}

function Pages({
  route,
  account,
  zone,
  hasAccounts,
  lost,
}: {
  route: Route
  account: Account
  zone: Zone | undefined
  hasAccounts: boolean
  /** Whether the address names something that the token does not see. */
  lost: boolean
}) {
  const page = PAGES.find(({ path }) => path === route.path) ?? PAGES[0]!
  const heading = useRef<HTMLHeadingElement>(null)
  const first = useRef(true)
  useEffect(() => {
    document.title = `${page.title} · edged`
    // Screen readers continue at the new page, not at the link.
    if (!first.current) heading.current?.focus()
    first.current = false
  }, [page])
  const open = (place: Partial<Route>) => (location.hash = hashOf({ path: page.path, ...place }))
  const { Page } = page
  return (
    <PlaceContext.Provider value={{ account, zone }}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), heading.current?.focus())}>
        To the content
      </a>
      <header>
        <strong>edged</strong>
        {hasAccounts && (
          <Picker label="Account" value={account} find={findAccounts} onPick={({ id }) => open({ account: id })} />
        )}
        {zone && (
          <Picker
            label="Zone"
            value={zone}
            find={(text, at) => findZones(account, text, at)}
            onPick={({ id }) => open({ zone: id })}
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
              <a href={hashOf({ ...route, path })} aria-current={path === page.path ? 'page' : undefined}>
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
        {lost && <Problem text="The address names a zone or an account that this token does not see." />}
        {page.needsZone && !zone ? <p>This account has no zone that the token sees.</p> : <Page key={zone?.id} />}
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
