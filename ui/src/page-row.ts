import type { ComponentType } from 'react'
import type { IconName } from './parts/icon.tsx'

/** One page of the dashboard. A new page is one folder below `pages/` and one row of `PAGES`. */
export interface PageRow {
  /** `z`: of a zone, `a`: of an account. */
  readonly scope: 'z' | 'a'
  /** Part of the address. */
  readonly path: string
  readonly title: string
  readonly group: '' | 'Delivery' | 'Developer' | 'Account'
  readonly icon: IconName
  /** Groups of permissions, one of which a token needs to see the page. Empty: every token. */
  readonly needs: readonly string[]
  /** Page and section of the manual, as in `rules.html#order`. */
  readonly docs: string
  /** Second key after `g` that opens the page. */
  readonly key?: string
  readonly component: ComponentType
}
