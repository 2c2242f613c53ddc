// The names of the roles in an organization.

import { T } from "./i18n.js";

/** @type {() => Record<string, string>} */
const names = () => ({
  "Organization.Admin": T("Administer the organization"),
  "Contract.Admin": T("Manage contracts"),
  "Contract.Read": T("Read contracts"),
  "Service.Transfer.Use": T("Send and receive files"),
  "Service.All.Use": T("Use all services"),
});

/** Returns the roles that an administrator can grant. */
export const offered = () => Object.keys(names());
/** Returns the name of a role; an unknown role is its own name. @param {string} role */
export const roleName = (role) => names()[role] ?? role;
