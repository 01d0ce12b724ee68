/** Whether a program can be called by its name. */
export function installed(name: string): boolean
/** A port that nobody listens on at the moment. */
export function freePort(): Promise<number>
/** Resolves once something listens on the port. */
export function accepting(port: number): Promise<void>
