/** The owner of a resource. `daemon` is for resources above accounts, such as tokens. */
export interface Scope {
  readonly type: 'account' | 'zone' | 'daemon'
  readonly id: string
}

export const account = (id: string): Scope => ({ type: 'account', id })
export const zone = (id: string): Scope => ({ type: 'zone', id })
export const DAEMON: Scope = { type: 'daemon', id: 'edged' }
