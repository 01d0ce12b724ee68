import type { Command } from 'commander'

/** Adds arguments, options, subcommands and the action to a command that has its name and description. */
export type DefineCommand = (command: Command) => void

/** Ends the process with an exit code and one line on standard error that says what to do. */
export class Exit extends Error {
  override readonly name = 'Exit'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}
