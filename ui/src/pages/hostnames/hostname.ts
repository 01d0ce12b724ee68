/** A custom host name as the API returns it. */
export interface Hostname {
  readonly id: string
  readonly hostname: string
  readonly status: string
  readonly custom_metadata?: Readonly<Record<string, string>>
  readonly custom_origin_server?: string
}

const MARK = 'content_converter'

/** Whether the metadata of a host name switch Markdown on. */
export const isMarked = ({ custom_metadata: metadata }: Hostname): boolean => metadata?.[MARK] === 'enabled'

/** Returns the metadata of a host name with or without Markdown. */
export function withMark({ custom_metadata: metadata = {} }: Hostname, on: boolean): Record<string, string> {
  const { [MARK]: _, ...others } = metadata
  return on ? { ...others, [MARK]: 'enabled' } : others
}
