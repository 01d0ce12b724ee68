import { Page } from '../../parts/page.tsx'

export default function Workers() {
  return <Page>Workers</Page>
}
