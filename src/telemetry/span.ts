/** Kinds of OTLP that are used here. */
export const SERVER = 2
export const CLIENT = 3

export type Attributes = Readonly<Record<string, string | number>>

/** A finished piece of work. Times are milliseconds since 1970, with fractions. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly name: string
  readonly kind: typeof SERVER | typeof CLIENT
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly failed: boolean
}

/** Returns the body of an export: OTLP 1.x as JSON, where ids are hexadecimal and 64-bit numbers are text. */
export const exportBody = (spans: readonly Span[], resource: Attributes): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: pairs(resource) },
        scopeSpans: [{ scope: { name: 'edged' }, spans: spans.map(shown) }],
      },
    ],
  })

const shown = ({ traceId, spanId, parentId, name, kind, startedAt, endedAt, attributes, failed }: Span) => ({
  traceId,
  spanId,
  ...(parentId !== undefined && { parentSpanId: parentId }),
  name,
  kind,
  startTimeUnixNano: nanoseconds(startedAt),
  endTimeUnixNano: nanoseconds(Math.max(endedAt, startedAt)),
  attributes: pairs(attributes),
  status: failed ? { code: 2 } : {},
})

const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`

const pairs = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(Math.trunc(value)) } : { stringValue: value },
  }))
