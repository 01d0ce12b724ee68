import { Page } from '../../parts/page.tsx'

export default function Rules() {
  return <Page>Rules</Page>
}
