import type { Command } from 'commander'

/** Adds one command to the program. What it returns at run time is the exit code. */
export type AddCommand = (program: Command) => void

/** Ends with a code and one line on standard error that says what to do next. */
export class Exit extends Error {
  override readonly name = 'Exit'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}
