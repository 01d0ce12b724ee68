/** A destination of findings. */
export interface Webhook {
  readonly id: string
  readonly label: string
  readonly destination_url: string
  readonly authentication_type: string
  readonly status: 'enabled' | 'disabled'
  readonly disabled_reason?: string
  /** Names only. */
  readonly headers?: readonly { readonly key: string }[]
}
