import { lazy, type ComponentType } from 'react'
import type { PageRow } from '../page-row.ts'
import type { Place } from '../place.tsx'

const row = (
  scope: PageRow['scope'],
  path: string,
  title: string,
  group: PageRow['group'],
  icon: PageRow['icon'],
  needs: readonly string[],
  docs: string,
  load: () => Promise<{ default: ComponentType }>,
  key?: string,
): PageRow => ({ scope, path, title, group, icon, needs, docs, component: lazy(load), ...(key && { key }) })

/** A permission to change something also lets see it. */
const either = (name: string): readonly string[] => [`${name} Read`, `${name} Write`]
/** Each phase has its own permission. */
const RULES = [
  'Account WAF',
  'Account Rulesets',
  'Mass URL Redirects',
  'Transform Rules',
  'Select Configuration',
  'Magic Firewall',
  'L4 DDoS Managed Ruleset',
].flatMap(either)

/** Pages in the order of the menu. */
// prettier-ignore
export const PAGES: readonly PageRow[] = [
  row('z', 'overview', 'Overview', '', 'layout-dashboard', [], 'dashboard.html', async () => await import('./overview/overview.tsx'), 'o'),
  row('a', 'overview', 'Overview', '', 'layout-dashboard', [], 'dashboard.html', async () => await import('./overview/overview.tsx'), 'o'),
  row('z', 'requests', 'Requests', '', 'search', either('Logs'), 'history.html', async () => await import('./requests/requests.tsx'), 'r'),
  row('z', 'agents', 'Agents', '', 'bot', either('Zone'), 'agents.html', async () => await import('./agents/agents.tsx'), 'a'),
  row('z', 'rules', 'Rules', 'Delivery', 'shield', RULES, 'rules.html', async () => await import('./rules/rules.tsx'), 'u'),
  row('a', 'rules', 'Account rules', 'Account', 'shield', RULES, 'rules.html', async () => await import('./rules/rules.tsx')),
  row('z', 'markdown', 'Markdown', 'Delivery', 'file-text', either('Zone Settings'), 'markdown.html', async () => await import('./markdown/markdown.tsx'), 'm'),
  row('z', 'cache', 'Cache', 'Delivery', 'database', [], 'cache.html', async () => await import('./cache/cache.tsx'), 'c'),
  row('z', 'certificates', 'Certificates', 'Delivery', 'shield-check', either('SSL and Certificates'), 'front.html', async () => await import('./certificates/certificates.tsx')),
  row('z', 'settings', 'Settings', 'Delivery', 'settings', either('Zone Settings'), 'no-effect.html', async () => await import('./settings/settings.tsx'), 's'),
  row('z', 'hostnames', 'Host names', 'Delivery', 'globe', either('SSL and Certificates'), 'front.html', async () => await import('./hostnames/hostnames.tsx')),
  row('z', 'origins', 'Origins', 'Delivery', 'server', [], 'front.html', async () => await import('./origins/origins.tsx')),
  row('a', 'workers', 'Workers', 'Developer', 'zap', [...either('Workers Scripts'), 'Workers Tail Read'], 'workers.html', async () => await import('./workers/workers.tsx'), 'w'),
  row('a', 'logs', 'Log jobs', 'Developer', 'logs', either('Logs'), 'logpush.html', async () => await import('./logs/logs.tsx'), 'l'),
  row('a', 'pipelines', 'Pipelines', 'Developer', 'workflow', either('Logs'), 'pipelines.html', async () => await import('./pipelines/pipelines.tsx'), 'p'),
  row('a', 'webhooks', 'Webhooks', 'Developer', 'webhook', either('Zero Trust'), 'webhooks.html', async () => await import('./webhooks/webhooks.tsx'), 'h'),
  row('a', 'findings', 'Findings', 'Developer', 'triangle-alert', either('Zero Trust'), 'webhooks.html', async () => await import('./findings/findings.tsx')),
  row('a', 'zones', 'Zones', 'Account', 'globe', [], 'configuration.html', async () => await import('./zones/zones.tsx'), 'z'),
  row('a', 'lists', 'Lists', 'Account', 'list', either('Account Filter Lists'), 'rules.html', async () => await import('./lists/lists.tsx')),
  row('a', 'tokens', 'Tokens', 'Account', 'key', [...either('API Tokens'), ...either('Account API Tokens')], 'api.html', async () => await import('./tokens/tokens.tsx')),
  row('a', 'audit', 'Audit', 'Account', 'history', either('Account Settings'), 'operations.html', async () => await import('./audit/audit.tsx')),
]

/** Pages that the token may open here. Pages of the account are also in the menu of its zones. */
export function pagesOf(place: Place): readonly PageRow[] {
  const scope = place.zone ? 'z' : 'a'
  const isShown = (page: PageRow): boolean => page.scope === scope || (page.scope === 'a' && page.path !== 'overview')
  return PAGES.filter((page) => isShown(page) && mayOpen(page, place))
}

/** Returns the page that an address names. Undefined if there is none, or if the token may not open it. */
export const pageFor = (path: string, place: Place): PageRow | undefined =>
  PAGES.find((page) => page.path === path && page.scope === (place.zone ? 'z' : 'a') && mayOpen(page, place))

const mayOpen = (page: PageRow, place: Place): boolean => page.needs.length === 0 || page.needs.some(place.may)
