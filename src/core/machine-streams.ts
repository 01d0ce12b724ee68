import type { Scope } from './scope.js'

/** A request to every other machine for texts about something of a scope, as they occur there. */
export interface StreamRequest {
  readonly type: 'worker_tail' | 'log_records' | 'request_tail' | 'request_log'
  readonly scope: Scope
  /** Input of the sending side, as JSON. */
  readonly input: object
}

/** Receives the texts that the other machines send. */
export interface StreamReceiver {
  text(text: Buffer): void
  /** Called with the number of records that a machine dropped because this one read too slowly. */
  missed(records: number): void
  /** Called once when a machine does not respond, and when it sends again. */
  machine(name: string, state: 'away' | 'back'): void
}

/** Streams from all other machines. */
export interface FollowedMachines {
  /** Resolves when each machine that responds sends, after at most 5 s. */
  readonly ready: Promise<void>
  close(): void
}

/** The other machines of an installation, present and future ones. */
export interface OtherMachines {
  follow(request: StreamRequest, receiver: StreamReceiver): FollowedMachines
}

/** Sends to the machine that asked. Texts sent while 1 MiB waits are dropped and counted. */
export interface StreamSender {
  send(text: string | Uint8Array, records: number): void
  /** Ends the stream after a failure. The other machine repeats the request. */
  end(): void
}

/** Starts to send the requested texts. Resolves after the start. The signal ends the stream. */
export type StreamSource = (
  request: Pick<StreamRequest, 'scope' | 'input'>,
  sender: StreamSender,
  signal: AbortSignal,
) => Promise<void>
