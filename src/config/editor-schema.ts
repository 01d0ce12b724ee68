interface Shape {
  readonly type?: unknown
  readonly not?: object
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly oneOf?: readonly Shape[]
  readonly required?: readonly string[]
  /** The options that `false` stands for. */
  readonly 'x-off'?: object
}

/**
 * Returns the schema of a file for its author: options with a default can be omitted, and optional
 * ones and sections can be null.
 * The schema for validation describes the value with every default filled in.
 */
export function forEditors(schema: object): object {
  return written(schema)
}

function written(schema: Shape): Shape {
  const { properties, required = [], items, oneOf } = schema
  return {
    ...schema,
    ...(items && { items: written(items) }),
    ...(oneOf && { oneOf: oneOf.map(written) }),
    ...(properties && {
      required: required.filter((name) => properties[name]?.default === undefined),
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => {
          const isOptional = member.default !== undefined || !required.includes(name)
          return [name, isOptional ? orNull(written(member)) : written(member)]
        }),
      ),
    }),
  }
}

/** An option without a value, as in `access_log: null`, counts as absent. */
function orNull(shape: Shape): Shape {
  if (shape['x-off']) return { ...shape, type: [shape.type, 'null', 'boolean'], not: { const: true } }
  return shape.type === 'object' || shape.type === 'string' ? { ...shape, type: [shape.type, 'null'] } : shape
}
