import { Page } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'

/** Is it well, and what changed. */
export default function Overview() {
  return (
    <Page>
      <Panel title="Requests">…</Panel>
    </Page>
  )
}
