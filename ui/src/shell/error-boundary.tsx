import { Component, type ReactNode } from 'react'
import { messageOf } from '../api/client.ts'
import { Problem } from '../parts/states.tsx'

/** Shows what a page threw in its place. The head and the menu stay. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {}

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Problem
        isPage
        title="This page failed"
        text={`${messageOf(error)}. If the daemon has another version since the page was loaded, load it again.`}
        retry={() => location.reload()}
      />
    )
  }
}
