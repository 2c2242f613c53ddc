// Links of the mailbox that fill in answers: what the page takes from its address (mailboxform.js), as a form.

import { Check, Field, html, useState } from "./ui.js";
import { T } from "./i18n.js";
import { Fields, fieldsOf, given } from "./fields.js";
import { MailboxLink } from "./mailboxlink.js";

/** The form is not sent: the link changes while somebody types. @param {{mailbox: TransferAPI["OwnMailbox"]}} props as it is saved */
export function LinkBuilder({ mailbox }) {
  const [subject, setSubject] = useState("");
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [shared, setShared] = useState(false);
  const schema = /** @type {any} */ (mailbox.fieldsSchema), ui = mailbox.uiSchema;
  const names = fieldsOf(schema, ui).map(({ name }) => name);
  const query = new URLSearchParams([...subject ? [["subject", subject]] : [],
    ...Object.entries(given(values)).filter(([name]) => names.includes(name)).map(([name, value]) => [`field.${name}`, value]),
    ...shared ? [["shared", ""]] : []]);
  return html`<section class="card stack wide" id="prefilled"><h2>${T("Link with filled-in answers")}</h2>
    <p class="hint">${T("A link for one case, customer or poster. The form opens with these answers.")}</p>
    <${Field} label=${T("Subject")} optional maxlength="120" name="prefilled.subject" value=${subject}
      onInput=${(/** @type {any} */ e) => setSubject(e.target.value)} />
    ${schema && html`<${Fields} form="prefilled-answers" schema=${schema} ui=${ui} values=${values}
      onValue=${(name, text) => setValues({ ...values, [name]: text })} />`}
    <${Check} label=${T("For a shared device, such as a tablet at the reception")} checked=${shared}
      hint=${T("The device keeps nothing, and the page starts over after each delivery.")}
      onChange=${(/** @type {any} */ e) => setShared(e.target.checked)} />
    ${String(query) && html`<${MailboxLink} mailbox=${mailbox} query=${String(query).replace(/(^|&)shared=$/, "$1shared")} />`}
  </section>`;
}
