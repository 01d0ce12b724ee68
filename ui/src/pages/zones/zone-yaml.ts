import type { Zone } from '../../api/types.ts'
import { yamlOf } from '../../parts/yaml.ts'

/** A setting as `edged/settings` returns it. */
export interface ZoneSetting {
  readonly id: string
  readonly value: unknown
  readonly source: 'default' | 'file' | 'api'
}

/** Returns a zone of the API as an item of `zones` in the configuration file, with the settings that the API has set. */
export function zoneYaml(
  {
    id,
    name,
    account,
    plan,
    edged,
  }: Zone & { readonly plan: { readonly id: string }; readonly edged?: { readonly origin?: string | null } },
  settings: readonly ZoneSetting[],
): string {
  const set = settings.filter(({ source }) => source === 'api').map(({ id: key, value }) => [key, value] as const)
  return yamlOf([
    {
      id,
      account: account.id,
      name,
      ...(edged?.origin && { origin: edged.origin }),
      plan: plan.id,
      ...(set.length > 0 && { settings: Object.fromEntries(set) }),
    },
  ])
}
