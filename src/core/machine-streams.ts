import type { Scope } from './scope.js'

/** What a machine asks of each other one: texts about something of a scope, as they occur there. */
export interface StreamRequest {
  readonly type: 'worker_tail' | 'log_records'
  readonly scope: Scope
  /** What the sending side needs to know, as JSON. */
  readonly input: object
}

/** Receives what the other machines send. */
export interface StreamReceiver {
  text(text: Buffer): void
  /** Called with the number of records that a machine dropped because this one read too slowly. */
  missed(records: number): void
  /** Called once when a machine does not respond, and when it sends again. */
  machine(name: string, state: 'away' | 'back'): void
}

/** Streams from all other machines. */
export interface FollowedMachines {
  /** Resolves when each machine that responds sends; after 5 s at the latest. */
  readonly ready: Promise<void>
  close(): void
}

/** The other machines of an installation, present and future ones. */
export interface OtherMachines {
  follow(request: StreamRequest, receiver: StreamReceiver): FollowedMachines
}

/** Sends to the machine that asked. What is sent while 1 MiB waits is dropped and counted. */
export interface StreamSender {
  send(text: string | Uint8Array, records: number): void
  /** Ends the stream after a failure. The other machine asks again. */
  end(): void
}

/** Starts to send what a request asks for. Resolves when it does; the signal ends it. */
export type StreamSource = (
  request: Pick<StreamRequest, 'scope' | 'input'>,
  sender: StreamSender,
  signal: AbortSignal,
) => Promise<void>
