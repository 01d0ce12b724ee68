import { Type as TypeBox } from 'typebox'
import type { PluginObjectSchema, PluginSchema } from '../core/extension/schema.js'

type Options = Readonly<Record<string, unknown>>

/** Builds JSON Schemas. Options are keywords of JSON Schema, such as `minimum` and `description`. */
export interface SchemaBuilder {
  readonly String: (options?: Options) => PluginSchema
  readonly Integer: (options?: Options) => PluginSchema
  readonly Number: (options?: Options) => PluginSchema
  readonly Boolean: (options?: Options) => PluginSchema
  /** One value. */
  readonly Literal: (value: string | number | boolean, options?: Options) => PluginSchema
  /** One of some texts. */
  readonly Enum: (values: readonly string[], options?: Options) => PluginSchema
  readonly Array: (items: PluginSchema, options?: Options) => PluginSchema
  /** An object with these members and no others. All are required, except members of `Optional`. */
  readonly Object: (properties: Readonly<Record<string, PluginSchema>>, options?: Options) => PluginObjectSchema
  readonly Optional: (schema: PluginSchema) => PluginSchema
  readonly Union: (schemas: readonly PluginSchema[], options?: Options) => PluginSchema
}

const builder = TypeBox as unknown as SchemaBuilder

/** The schema builder of plug-ins. */
export const Type: SchemaBuilder = Object.freeze({
  String: (options?: Options) => builder.String(options),
  Integer: (options?: Options) => builder.Integer(options),
  Number: (options?: Options) => builder.Number(options),
  Boolean: (options?: Options) => builder.Boolean(options),
  Literal: (value: string | number | boolean, options?: Options) => builder.Literal(value, options),
  Enum: (values: readonly string[], options?: Options) => builder.Enum([...values], options),
  Array: (items: PluginSchema, options?: Options) => builder.Array(items, options),
  Object: (properties: Readonly<Record<string, PluginSchema>>, options?: Options) =>
    builder.Object(properties, { additionalProperties: false, ...options }),
  Optional: (schema: PluginSchema) => builder.Optional(schema),
  Union: (schemas: readonly PluginSchema[], options?: Options) => builder.Union([...schemas], options),
})
