/** A JSON Schema, as the schema builder of `edged/plugin` makes it. */
export interface PluginSchema {
  readonly [keyword: string]: unknown
}

/** A JSON Schema of an object. */
export interface PluginObjectSchema extends PluginSchema {
  readonly properties: Readonly<Record<string, PluginSchema>>
}
