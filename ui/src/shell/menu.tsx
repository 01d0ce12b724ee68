import { useEffect, useRef } from 'react'
import { To, useAddress, type To as Target } from '../address.tsx'
import { useRead } from '../api/queries.ts'
import type { Zone } from '../api/types.ts'
import type { PageRow } from '../page-row.ts'
import { pagesOf } from '../pages/index.ts'
import { Icon } from '../parts/icon.tsx'
import { usePlaceOf, type Place } from '../place.tsx'
import { lastZone } from './last-place.ts'
import styles from './shell.module.css'

const GROUPS = ['', 'Delivery', 'Developer', 'Account'] as const

/** The zone of the address. On pages of an account, the zone that was open last, or the first one if none was open. */
function useZonePlace(place: Place): Place | undefined {
  const last = lastZone()
  const named = last === null ? '' : `&name=${encodeURIComponent(last)}`
  // One zone and no list: an account can have many thousands.
  const { value } = useRead<readonly Zone[]>(
    place.zone ? undefined : `/zones?account.id=${place.account.id}&order=name&per_page=1${named}`,
  )
  const other = usePlaceOf(place.account, value?.[0])
  return place.zone ? place : other
}

/**
 * The pages of a zone and of its account. The pages of a zone stay on pages of the account, so that no page changes its
 * place in the menu.
 */
export function Menu({
  place,
  page,
  isOpen,
  onClose,
}: {
  place: Place
  page: PageRow | undefined
  isOpen: boolean
  onClose: () => void
}) {
  const address = useAddress()
  const ofZone = useZonePlace(place)
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isOpen) nav.current?.querySelector('a')?.focus()
  }, [isOpen])
  const overview = place.zone ? [] : pagesOf(place).filter(({ group }) => group === '')
  const ofBoth = ofZone ? pagesOf(ofZone) : pagesOf(place)
  const pages = [...overview, ...ofBoth.filter(({ path }) => overview.every((own) => own.path !== path))]
  const targetOf = ({ scope, path }: PageRow): Target => ({
    scope,
    place:
      scope === address.scope
        ? address.place
        : scope === 'a'
          ? place.account.id
          : (ofZone?.zone?.name ?? address.place),
    page: path,
  })
  return (
    <>
      {isOpen && <div className={styles['cover']} onClick={onClose} />}
      <nav
        ref={nav}
        id="menu"
        aria-label="Pages"
        className={styles['menu']}
        data-open={isOpen || undefined}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
      >
        {GROUPS.map((group) => {
          const rows = pages.filter((one) => one.group === group)
          if (rows.length === 0) return undefined
          // Elsewhere the head names the zone.
          const name = group === 'Delivery' && !place.zone ? `Delivery of ${ofZone?.zone?.name}` : group
          return (
            <div key={group}>
              {name !== '' && <p className={styles['group']}>{name}</p>}
              <ul>
                {rows.map((one) => (
                  <li key={one.scope + one.path}>
                    <To
                      to={targetOf(one)}
                      aria-current={one === page ? 'page' : undefined}
                      title={one.title}
                      className={styles['item']}
                      onClick={onClose}
                    >
                      <Icon name={one.icon} />
                      <span>{one.title}</span>
                    </To>
                  </li>
                ))}
              </ul>
            </div>
          )
        })}
      </nav>
    </>
  )
}
