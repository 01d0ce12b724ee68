/** The interface of sources of pipelines that plug-ins add. */
import type { PluginSchema } from './schema.js'

/** The run of a pipeline that reads a source. */
export interface PluginSourceContext {
  /** Aborts when the run ends. The source then returns soon. */
  readonly signal: AbortSignal
  /** Writes a message for the user. */
  readonly tell: (message: string) => void
}

/** Some records of a source, at most a few thousand. */
export interface PluginRecords {
  /** Objects, or JSON texts of objects. */
  readonly records: readonly (object | string)[]
  /** Called once the records are safe on disk: tells the origin of the records that it can forget them. */
  acknowledge?(): Promise<void>
}

/** A source of pipelines. */
export interface PluginSource {
  /** The member of `source` that names it. */
  readonly name: string
  readonly description: string
  /** Schema of the member. */
  readonly schema: PluginSchema
  /** True if the source does not end by itself. Default: false. */
  readonly endless?: boolean
  /** Reads the source. An error ends the run, and a later run reads what was not acknowledged. */
  open(options: unknown, context: PluginSourceContext): AsyncIterable<PluginRecords>
}
