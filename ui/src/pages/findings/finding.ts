/** A weakness with the number of assets that have it. */
export interface Finding {
  readonly id: string
  readonly finding: {
    readonly name: string
    readonly severity: string
    readonly vendor: string
    readonly description?: string | null
    readonly remediation?: string | null
  }
  readonly integration: { readonly name?: string }
  readonly ignored: boolean
  readonly active_count: number
  readonly archived_count: number
  readonly latest_affliction_date: string
}

/** One asset that has it. */
export interface Instance {
  readonly id: string
  readonly affliction_date: string
  readonly is_archived: boolean
  readonly asset: { readonly name?: string; readonly external_id?: string }
  readonly webhooks: readonly {
    readonly webhook_label: string
    readonly latest_job: { readonly status: string; readonly created_at: string }
  }[]
}
