import type { Zone } from './zones.js'

const DEFAULT = 'ai-train=yes, search=yes, ai-input=yes'

/** Returns the Content-Signal of a zone for content without one of its own, or undefined if the zone adds none. */
export function signalOf({ agents }: Pick<Zone, 'agents'>): string | undefined {
  const signal = agents?.content_signal ?? DEFAULT
  return signal === false ? undefined : signal
}
