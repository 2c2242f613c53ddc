// The organization page: other websites whose pages may upload to its mailboxes.

import { Field, Form, Notice, Save, Waiting, html, useLoaded, useSaving } from "./ui.js";
import { T } from "./i18n.js";
import { own } from "./api.js";
import { useStepUp } from "./stepup.js";

/** Shows and changes the list. @param {{at: OrganizationPath}} props URL of the organization */
export function UploadOrigins({ at }) {
  const { value, error, set } = useLoaded(async () => {
    const [listed, profile] = await Promise.all([own("GET", `${at}/uploadorigins`), own("GET", `${at}/profile`)]);
    return { origins: listed.body.origins, hostname: profile.body.hostname };
  }, [at]);
  const { stepUp, dialog } = useStepUp();
  const save = useSaving(async ({ origins }) => {
    const { body } = await stepUp("PUT", `${at}/uploadorigins`, { origins: origins.split(/\s+/).filter(Boolean) });
    set({ .../** @type {any} */ (value), origins: body.origins });
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const lines = value.origins.join("\n");
  return html`<section class="card stack"><h2>${T("Uploads from other websites")}</h2>
    ${!value.hostname && html`<${Notice}>${T("This works at a hostname of your organization only, and it has none yet.")} <a
      href="#profile">${T("Hostname")}</a><//>`}
    <${Form} onSend=${save.run} refused=${save.error} onInput=${save.touch}>
      <${Field} key=${lines} label=${T("Websites, one per line")} name="origins" as="textarea" rows="3" defaultValue=${lines}
        spellcheck="false" autocapitalize="none"
        hint=${T("Pages of these websites may upload to mailboxes of your organization, such as https://www.example.com.")} />
      <${Save} of=${save} />
    <//>
    ${dialog}
  </section>`;
}
