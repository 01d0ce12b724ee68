/** Pages by their names in earlier addresses, which were behind `#`. */
const PAGES: Readonly<Record<string, string>> = {
  '': 'overview',
  rulesets: 'rules',
  logpush: 'logs',
  'log-push': 'logs',
  zone: 'settings',
  try: 'markdown',
  'try-it': 'markdown',
}

/** What an earlier address names, for example `#/rulesets?zone=ID`. */
export interface Earlier {
  /** Beginning of a path. Undefined if the address names no zone and no account. */
  readonly place: string | undefined
  readonly page: string
}

/** Returns what the part of an earlier address behind `#/` names. Undefined for other texts. */
export function earlierOf(hash: string): Earlier | undefined {
  const [, name, query = ''] = /^#?\/([\w-]*)(?:\?(.*))?$/.exec(hash) ?? []
  if (name === undefined) return undefined
  const names = new URLSearchParams(query)
  const zone = names.get('zone')
  const account = names.get('account')
  const place = zone ? `/z/${encodeURIComponent(zone)}` : account ? `/a/${encodeURIComponent(account)}` : undefined
  return { place, page: PAGES[name] ?? name }
}
