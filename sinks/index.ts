import { tableOf } from '../src/core/extension/tables.js'
import type { Sink } from '../src/core/sink.js'
import { azure } from './azure.js'
import { bq } from './bq.js'
import { datadog } from './datadog.js'
import { elasticsearch } from './elasticsearch.js'
import { file } from './file.js'
import { gs } from './gs.js'
import { http, https } from './https.js'
import { ibmcl } from './ibmcl.js'
import { kafka } from './kafka.js'
import { kinesis } from './kinesis.js'
import { loki } from './loki.js'
import { newrelic } from './newrelic.js'
import { reject } from './contract/params.js'
import { pluginSink } from './contract/plugin.js'
import { r2 } from './r2.js'
import { redacted, withoutSecrets } from './redact.js'
import { redis, rediss } from './redis.js'
import { s3 } from './s3.js'
import type { SinkDeps, SinkType } from './contract/sink-type.js'
import { sentinelone, splunk } from './splunk.js'
import { stdout } from './stdout.js'
import { sumo } from './sumo.js'
import { syslog } from './syslog.js'

const OWN: readonly SinkType[] = [
  azure,
  bq,
  datadog,
  elasticsearch,
  file,
  gs,
  http,
  https,
  ibmcl,
  kafka,
  kinesis,
  loki,
  newrelic,
  r2,
  redis,
  rediss,
  s3,
  sentinelone,
  splunk,
  stdout,
  sumo,
  syslog,
]

/** Every type of destination, by the scheme of `destination_conf`. */
export const SINKS: ReadonlyMap<string, SinkType> = new Map(
  tableOf('sink', { own: OWN, key: ({ scheme }) => scheme, complete: pluginSink }).map((type) => [type.scheme, type]),
)

/** A destination as it was read. */
export interface Destination {
  readonly type: SinkType
  readonly url: URL
}

const MAX_CHARACTERS = 4096

/** Parses a `destination_conf`. Throws InvalidInput with the pointer "" if it is not a URL or its scheme is unknown. */
export function parseDestination(text: string): Destination {
  if (text.length > MAX_CHARACTERS) reject(`is longer than ${MAX_CHARACTERS} characters`)
  // URL parsers drop some of these characters, so the parsed URL would differ from the given one.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text)) reject('has white space, a backslash or a control character in it')
  if (text.includes('#')) reject('has a # in it; write %23')
  const type = typeOf(text)
  if (type === undefined) reject(`must begin with one of ${[...SINKS.keys()].map((scheme) => `${scheme}:`).join(', ')}`)
  if (!URL.canParse(text)) reject('is not a URL')
  return { type, url: new URL(text) }
}

/** Checks the form of a destination and whether the operator allows it, without any I/O. Throws InvalidInput with the pointer "". */
export function checkDestination(text: string, deps: SinkDeps): void {
  const { type, url } = parseDestination(text)
  type.check(url, deps)
}

/** Opens a destination without connecting to it yet. Throws as {@link checkDestination} does. */
export function openSink(text: string, deps: SinkDeps): Sink {
  const { type, url } = parseDestination(text)
  return type.open(url, deps)
}

/** Whether a job needs an ownership challenge for a destination. Throws InvalidInput with the pointer "". */
export function needsOwnership(text: string): boolean {
  const { type, url } = parseDestination(text)
  return type.ownership?.(url) ?? false
}

/** Returns a destination in the form that is shown and logged, with secrets replaced by `***`. Accepts any string. */
export const redact = (text: string): string => redacted(text, typeOf(text))

/** Returns a text that a destination has sent, with the secrets of the destination replaced by `***`. */
export const hideSecrets = (text: string, destination: string): string =>
  withoutSecrets(text, destination, typeOf(destination))

/**
 * Returns the key that destinations share if they share a limit on uploads in progress. It is scheme and host, or the
 * bucket. Throws InvalidInput with the pointer "".
 */
export function destinationKey(text: string): string {
  const { protocol, host } = parseDestination(text).url
  return `${protocol}//${host.toLowerCase()}`
}

const typeOf = (text: string): SinkType | undefined =>
  SINKS.get(/^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase() ?? '')
