/** Destinations of log jobs: what each kind asks for, and the text of `destination_conf` in both directions. */

/** One parameter of a destination. */
export interface Parameter {
  readonly key: string
  readonly label: string
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  readonly hint?: string
  /** The only values. Empty: the default. */
  readonly values?: readonly string[]
}

/** One kind of destination. */
export interface DestinationKind {
  readonly scheme: string
  readonly name: string
  /** Label of what follows the scheme. */
  readonly place: string
  readonly example: string
  readonly parameters: readonly Parameter[]
  /** Takes `header_NAME` parameters. */
  readonly hasHeaders?: boolean
  /** The path is a secret. */
  readonly isPathSecret?: boolean
}

const FORMAT: Parameter = {
  key: 'format',
  label: 'File format',
  values: ['', 'parquet'],
  hint: 'Empty: text, as step 3 says.',
}
const KEY_ID: Parameter = { key: 'access-key-id', label: 'Access key id' }
const SECRET_KEY: Parameter = { key: 'secret-access-key', label: 'Secret access key', isSecret: true }
const TLS: readonly Parameter[] = [
  { key: 'tls', label: 'TLS', values: ['', 'true', 'false'] },
  { key: 'insecure-skip-verify', label: 'Skip the check of the certificate', values: ['', 'true', 'false'] },
]
const SKIP = TLS[1]!
const REDIS: readonly Parameter[] = [
  { key: 'stream', label: 'Stream', isRequired: true },
  { key: 'maxlen', label: 'Maximum entries' },
  { key: 'username', label: 'User' },
  { key: 'password', label: 'Password', isSecret: true },
  SKIP,
]
const COLLECTOR: readonly Parameter[] = [
  { key: 'header_Authorization', label: 'Authorization', isSecret: true, hint: 'For example Splunk TOKEN.' },
  { key: 'channel', label: 'Channel' },
  { key: 'sourcetype', label: 'Source type' },
  { key: 'source', label: 'Source' },
  { key: 'host', label: 'Host' },
  { key: 'index', label: 'Index' },
  SKIP,
]

/** In the order of the picker. */
export const KINDS: readonly DestinationKind[] = [
  {
    scheme: 'https',
    name: 'HTTPS',
    place: 'Address',
    example: 'logs.example.com/in',
    parameters: [],
    hasHeaders: true,
  },
  { scheme: 'http', name: 'HTTP', place: 'Address', example: '10.0.0.5:9556/in', parameters: [], hasHeaders: true },
  {
    scheme: 's3',
    name: 'S3',
    place: 'Bucket and folder',
    example: 'my-bucket/logs/{DATE}',
    parameters: [
      { key: 'region', label: 'Region', isRequired: true },
      KEY_ID,
      SECRET_KEY,
      { key: 'endpoint', label: 'Endpoint', hint: 'For MinIO and others: host or host:port.' },
      { key: 'sse', label: 'Server-side encryption', hint: 'For example AES256.' },
      FORMAT,
    ],
  },
  {
    scheme: 'kafka',
    name: 'Kafka',
    place: 'Broker and topic',
    example: 'broker:9092/logs',
    parameters: [
      { key: 'brokers', label: 'Further brokers', hint: 'host:port, with commas between them.' },
      { key: 'sasl', label: 'SASL', values: ['', 'plain', 'scram-sha-256', 'scram-sha-512'] },
      { key: 'username', label: 'User' },
      { key: 'password', label: 'Password', isSecret: true },
      { key: 'compression', label: 'Compression', values: ['', 'gzip', 'none'] },
      { key: 'key', label: 'Key of messages', hint: 'Name of a field.' },
      { key: 'idempotent', label: 'Idempotent', values: ['', 'true', 'false'] },
      ...TLS,
    ],
  },
  {
    scheme: 'file',
    name: 'File',
    place: 'Folder',
    example: '/var/log/edged/{DATE}',
    parameters: [{ key: 'gzip', label: 'Compress with gzip', values: ['', 'true', 'false'] }, FORMAT],
  },
  {
    scheme: 'loki',
    name: 'Loki',
    place: 'Host',
    example: 'loki:3100',
    parameters: [
      { key: 'labels', label: 'Labels', hint: 'For example job=edged,env=prod.' },
      { key: 'metadata', label: 'Structured metadata', hint: 'Names of fields, with commas between them.' },
      { key: 'time', label: 'Time of lines', values: ['', 'batch'] },
      ...TLS,
    ],
    hasHeaders: true,
  },
  {
    scheme: 'elasticsearch',
    name: 'Elasticsearch',
    place: 'Host and index',
    example: 'es:9200/edged-logs',
    parameters: [{ key: 'time', label: 'Field with the time' }, { key: 'pipeline', label: 'Ingest pipeline' }, ...TLS],
    hasHeaders: true,
  },
  {
    scheme: 'splunk',
    name: 'Splunk',
    place: 'Address of the collector',
    example: 'splunk:8088/services/collector/raw',
    parameters: COLLECTOR,
    hasHeaders: true,
  },
  {
    scheme: 'datadog',
    name: 'Datadog',
    place: 'Address',
    example: 'http-intake.logs.datadoghq.com/api/v2/logs',
    parameters: [
      { key: 'header_DD-API-KEY', label: 'API key', isSecret: true, isRequired: true },
      { key: 'ddsource', label: 'Source' },
      { key: 'service', label: 'Service' },
      { key: 'host', label: 'Host' },
      { key: 'ddtags', label: 'Tags' },
    ],
    hasHeaders: true,
  },
  {
    scheme: 'syslog',
    name: 'Syslog',
    place: 'Host and port',
    example: 'syslog.example.com:6514',
    parameters: [
      { key: 'facility', label: 'Facility' },
      { key: 'severity', label: 'Severity' },
      { key: 'hostname', label: 'Host name in messages' },
      { key: 'app-name', label: 'Application name' },
      ...TLS,
    ],
  },
  {
    scheme: 'gs',
    name: 'Google Cloud Storage',
    place: 'Bucket and folder',
    example: 'my-bucket/logs/{DATE}',
    parameters: [KEY_ID, SECRET_KEY, FORMAT],
  },
  {
    scheme: 'r2',
    name: 'R2',
    place: 'Bucket and folder',
    example: 'my-bucket/logs/{DATE}',
    parameters: [
      { key: 'account-id', label: 'Account id', isRequired: true },
      KEY_ID,
      SECRET_KEY,
      { key: 'jurisdiction', label: 'Jurisdiction' },
      FORMAT,
    ],
  },
  {
    scheme: 'azure',
    name: 'Azure Blob Storage',
    place: 'Host, container and folder',
    example: 'account.blob.core.windows.net/logs/{DATE}',
    parameters: [
      { key: 'sig', label: 'Signature of the SAS URL', isSecret: true, isRequired: true },
      { key: 'sp', label: 'Permissions of the SAS URL', hint: 'Must include w.' },
      FORMAT,
    ],
  },
  {
    scheme: 'bq',
    name: 'BigQuery',
    place: 'Table',
    example: 'projects/P/datasets/D/tables/T',
    parameters: [
      {
        key: 'credentials',
        label: 'Key of the service account',
        isSecret: true,
        isRequired: true,
        hint: 'base64:… or url:…',
      },
      { key: 'endpoint', label: 'Endpoint' },
    ],
  },
  {
    scheme: 'kinesis',
    name: 'Kinesis',
    place: 'Stream',
    example: 'my-stream',
    parameters: [
      { key: 'region', label: 'Region', isRequired: true },
      KEY_ID,
      SECRET_KEY,
      { key: 'sts-assume-role-arn', label: 'Role' },
      { key: 'sts-external-id', label: 'External id' },
      { key: 'endpoint', label: 'Endpoint' },
    ],
  },
  { scheme: 'rediss', name: 'Redis over TLS', place: 'Host and database', example: 'redis:6380/0', parameters: REDIS },
  { scheme: 'redis', name: 'Redis', place: 'Host and database', example: 'redis:6379/0', parameters: REDIS },
  {
    scheme: 'newrelic',
    name: 'New Relic',
    place: 'Address',
    example: 'log-api.newrelic.com/log/v1',
    parameters: [
      { key: 'Api-Key', label: 'API key', isSecret: true },
      { key: 'format', label: 'Format' },
    ],
    hasHeaders: true,
  },
  {
    scheme: 'sumo',
    name: 'Sumo Logic',
    place: 'Address of the collector',
    example: 'collectors.sumologic.com/receiver/v1/http/TOKEN',
    parameters: [],
    hasHeaders: true,
    isPathSecret: true,
  },
  {
    scheme: 'sentinelone',
    name: 'SentinelOne',
    place: 'Address of the collector',
    example: 'host/services/collector/raw',
    parameters: COLLECTOR,
    hasHeaders: true,
  },
  {
    scheme: 'ibmcl',
    name: 'IBM Cloud Logs',
    place: 'Address',
    example: 'id.ingress.region.logs.cloud.ibm.com/logs/v1/singles',
    parameters: [
      { key: 'ibm_api_key', label: 'API key', isSecret: true, isRequired: true },
      { key: 'iam_endpoint', label: 'IAM endpoint' },
    ],
    hasHeaders: true,
  },
]

/** A destination in parts, as the form has it. */
export interface Destination {
  readonly scheme: string
  readonly place: string
  /** Values of parameters by name, without header fields that are no parameter of the kind. */
  readonly values: Readonly<Record<string, string>>
  /** Further header fields, `Name: value` a line. */
  readonly headers: string
}

export const MASK = '***'

export const kindOf = (scheme: string): DestinationKind | undefined => KINDS.find((kind) => kind.scheme === scheme)

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Splits the text of a destination. */
export function parseDestination(text: string): Destination {
  const [, scheme = 'https', rest = ''] = /^([a-z0-9]+):(?:\/\/)?(.*)$/s.exec(text) ?? []
  const at = rest.indexOf('?')
  const place = at === -1 ? rest : rest.slice(0, at)
  const known = new Set(kindOf(scheme)?.parameters.map(({ key }) => key))
  const values: Record<string, string> = {}
  const headers: string[] = []
  for (const part of at === -1 ? [] : rest.slice(at + 1).split('&')) {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    if (name === '') continue
    if (name.startsWith('header_') && !known.has(name)) headers.push(`${decoded(name.slice(7))}: ${decoded(value)}`)
    else values[name] = decoded(value)
  }
  return { scheme, place, values, headers: headers.join('\n') }
}

/** Writes the text of a destination. Parameters that the kind does not have are left out. */
export function writeDestination({ scheme, place, values, headers }: Destination): string {
  const kind = kindOf(scheme)
  const own = kind?.parameters.map(({ key }) => key) ?? Object.keys(values)
  // What a client of the API has set, and the form has no field for, stays.
  const keys = [...own, ...Object.keys(values).filter((key) => !own.includes(key) && !isOfOther(key))]
  const parameters = keys.flatMap((key) => (values[key] ? [`${key}=${encodeURIComponent(values[key])}`] : []))
  if (!kind || kind.hasHeaders)
    for (const line of headers.split('\n')) {
      const [name = '', value = ''] = line.split(/:(.*)/s)
      if (name.trim() !== '')
        parameters.push(`header_${encodeURIComponent(name.trim())}=${encodeURIComponent(value.trim())}`)
    }
  const joint = scheme === 'file' && !place.startsWith('//') ? ':' : '://'
  return `${scheme}${scheme === 'file' && place.startsWith('/') ? '://' : joint}${place.trim()}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
}

const ALL_KEYS = new Set(KINDS.flatMap(({ parameters }) => parameters.map(({ key }) => key)))
const isOfOther = (key: string): boolean => ALL_KEYS.has(key)

/** Puts the secrets of `stored` in place of `***`, so that the destination can be tested. */
export function withSecrets(given: Destination, stored: Destination): Destination {
  const known = new Map(headerLines(stored.headers))
  const values = Object.entries(given.values).map(([key, value]) => [
    key,
    value === MASK ? (stored.values[key] ?? value) : value,
  ])
  const headers = headerLines(given.headers).map(
    ([name, value]) => `${name}: ${value === MASK ? (known.get(name) ?? value) : value}`,
  )
  const isMasked = given.place.includes(MASK)
  return {
    ...given,
    place: isMasked ? stored.place : given.place,
    values: Object.fromEntries(values) as Record<string, string>,
    headers: headers.join('\n'),
  }
}

const headerLines = (text: string): [string, string][] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', value = ''] = line.split(/:(.*)/s)
      return [name.trim(), value.trim()]
    })

/** `127.0.0.1:9556/in`: where records go, without secrets, for tables. */
export function shownPlace(text: string | undefined): string {
  if (text === undefined) return '–'
  const { scheme, place } = parseDestination(text)
  const open = place.replace(/^[^/@]*@/, '')
  const short = kindOf(scheme)?.isPathSecret ? `${open.split('/')[0]}/…` : open
  return scheme === 'http' || scheme === 'https' || scheme === 'file' ? short : `${scheme} ${short}`
}
