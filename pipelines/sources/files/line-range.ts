import type { Position } from '../../logpush/spool/types.js'

/** A place before a line. */
export interface FilePlace {
  /** Number of the stretch in the trail. */
  readonly file: number
  /** Bytes of NDJSON of the file before it. */
  readonly offset: number
  /** Number of the line, from 1. */
  readonly line: number
}

/** Lines of one file that follow each other in a trail. */
export interface Stretch {
  readonly path: string
  /** Position of the first record in it or after it. Set by the reader of the trail. */
  position?: Position | undefined
}
