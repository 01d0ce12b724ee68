import { Navigate } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { pathOf, To, useAddress } from '../address.tsx'
import type { PageRow } from '../page-row.ts'
import { pageFor } from '../pages/index.ts'
import { PlaceProvider, useAccounts, useNamedPlace, type Place } from '../place.tsx'
import { PageContext } from '../parts/page.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { Head } from './head.tsx'
import { useShortcuts } from './shortcuts.tsx'
import { Keys } from './keys.tsx'
import { rememberPlace, rememberZone } from './last-place.ts'
import { Menu } from './menu.tsx'
import styles from './shell.module.css'

/** Head, menu and the page that the address names. */
export function Shell() {
  const address = useAddress()
  const { place, read } = useNamedPlace()
  const [isMenuOpen, setMenuOpen] = useState(false)
  const page = place ? pageFor(address.page, place) : undefined
  useEffect(() => {
    setMenuOpen(false)
    if (page) rememberPlace(`/${address.scope}/${address.place}/${page.path}`)
    if (place?.zone) rememberZone(place.zone.name)
    document.title = page ? `${page.title} · ${place!.zone?.name ?? place!.account.name} · edged` : 'edged'
  }, [address.scope, address.place, page])
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#page" onClick={toPage}>
        Skip to the page
      </a>
      <PlaceOrNone place={place ?? undefined}>
        <Head page={page} onMenu={() => setMenuOpen(!isMenuOpen)} isMenuOpen={isMenuOpen} place={place ?? undefined} />
        {place && <Keys place={place} />}
        {place && <Menu place={place} page={page} isOpen={isMenuOpen} onClose={() => setMenuOpen(false)} />}
        <main id="page" tabIndex={-1} className={styles['main']}>
          {place === null ? (
            <Unknown scope={address.scope} />
          ) : place === undefined ? (
            read.error === undefined ? (
              <Loading />
            ) : (
              <Problem isPage title="The daemon does not answer" text={read.error} retry={read.reload} />
            )
          ) : (
            <Content key={`${address.scope}/${address.place}/${address.page}`} page={page} place={place} />
          )}
        </main>
      </PlaceOrNone>
    </div>
  )
}

function toPage(event: { preventDefault: () => void }): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#page')?.focus()
}

function PlaceOrNone({ place, children }: { place: Place | undefined; children: React.ReactNode }) {
  return place ? <PlaceProvider place={place}>{children}</PlaceProvider> : children
}

function Content({ page, place }: { page: PageRow | undefined; place: Place }) {
  const address = useAddress()
  useShortcuts(place)
  // Earlier addresses and the list of zones name pages of the account below a zone.
  const ofAccount = place.zone && !page ? pageFor(address.page, { ...place, zone: undefined }) : undefined
  if (ofAccount)
    return <Navigate to={pathOf({ ...address, scope: 'a', place: place.account.id })} search={address.search} replace />
  if (!page)
    return (
      <Problem
        isPage
        title="There is no such page here"
        text="The address names a page that does not exist, or that this token may not see."
      />
    )
  const { component: Component } = page
  return (
    <PageContext value={page}>
      <ErrorBoundary>
        <Suspense fallback={<Loading />}>
          <Component />
        </Suspense>
      </ErrorBoundary>
    </PageContext>
  )
}

/** Nothing is editable here: a change would go to another zone than the address says. */
function Unknown({ scope }: { scope: 'z' | 'a' }) {
  const [account] = useAccounts().value ?? []
  return (
    <>
      <Problem isPage title={`No ${scope === 'z' ? 'zone' : 'account'} with this id, or this token cannot see it`} />
      {account && (
        <p>
          <To to={{ scope: 'a', place: account.id, page: 'zones' }}>Zones of this token</To>
        </p>
      )}
    </>
  )
}
