/** Objects of the API that several pages show. */
export interface Account {
  readonly id: string
  readonly name: string
}

export interface Zone {
  readonly id: string
  readonly name: string
  readonly account: Account
  readonly paused?: boolean
  readonly plan?: { readonly name: string }
  readonly edged_source?: Source | null
}

/** Where the configuration file names an object. `null`: the API made it. */
export interface Source {
  readonly file: string
  readonly line: number
}

/** What the token may do, as `GET /user/edged/permissions` returns it. `*` is every group. */
export interface Permissions {
  readonly accounts: readonly { readonly id: string; readonly groups: readonly string[] }[]
  readonly zones: readonly { readonly id: string; readonly groups: readonly string[] }[]
  readonly token: { readonly name: string; readonly expires_on: string | null }
}
