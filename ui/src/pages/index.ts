import type { ComponentType } from 'preact'
import { Audit } from './audit.tsx'
import { Certificates } from './certificates.tsx'
import { LogPush } from './logpush.tsx'
import { Overview } from './overview.tsx'
import { Pipelines } from './pipelines.tsx'
import { Rulesets } from './rulesets.tsx'
import { Try } from './try.tsx'
import { Webhooks } from './webhooks.tsx'
import { Workers } from './workers.tsx'
import { Zones } from './zones.tsx'

interface PageEntry {
  /** After `#` in the address. */
  readonly path: string
  readonly title: string
  readonly needsZone?: boolean
  readonly Page: ComponentType
}

/** Every page, in the order of the navigation. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', title: 'Overview', Page: Overview },
  { path: '/try', title: 'Try it', needsZone: true, Page: Try },
  { path: '/zone', title: 'Zone', needsZone: true, Page: Zones },
  { path: '/rulesets', title: 'Rulesets', needsZone: true, Page: Rulesets },
  { path: '/logpush', title: 'Log push', needsZone: true, Page: LogPush },
  { path: '/pipelines', title: 'Pipelines', Page: Pipelines },
  { path: '/webhooks', title: 'Webhooks', Page: Webhooks },
  { path: '/workers', title: 'Workers', Page: Workers },
  { path: '/certificates', title: 'Certificates', needsZone: true, Page: Certificates },
  { path: '/audit', title: 'Audit', Page: Audit },
]
