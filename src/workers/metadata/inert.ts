import { isAvailable } from '../runtime/bindings.js'

/** Members of the metadata that are stored and returned without effect, with the values that ask for an effect. */
const INERT: Readonly<Record<string, (value: unknown) => boolean>> = {
  cache_options: isEnabled,
  containers: (value) => Array.isArray(value) && value.length > 0,
  limits: (value) => typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  placement: (value) => typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  usage_model: (value) => typeof value === 'string' && value !== 'standard',
}

function isEnabled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { readonly enabled?: unknown }).enabled === true
}

/** Returns pointers to the members of metadata and to the bindings that have no effect here. */
export const inertMembers = (metadata: object): string[] => {
  const { bindings } = metadata as { readonly bindings?: readonly { readonly type?: unknown }[] }
  return [
    ...Object.entries(metadata).flatMap(([name, value]) => (INERT[name]?.(value) === true ? [`/${name}`] : [])),
    ...(bindings ?? []).flatMap(({ type }, at) => (isAvailable(String(type)) ? [] : [`/bindings/${at}`])),
  ]
}
