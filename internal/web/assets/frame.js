// The script of pages whose content the server renders (not found).

import "./shell.js";
