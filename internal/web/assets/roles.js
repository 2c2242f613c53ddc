// The roles of an organization, in words.

import { T } from "./i18n.js";

const names = () => ({
  "Organization.Admin": T("Administer the organization"),
  "Contract.Admin": T("Manage contracts"),
  "Contract.Read": T("Read contracts"),
  "Service.Transfer.Use": T("Send and receive files"),
  "Service.All.Use": T("Use all services"),
});

/** Roles that the organization page offers. */
export const offered = () => Object.keys(names());
/** @param {string} role */
export const roleName = (role) => names()[role] ?? role;
