// The script of pages whose content the server renders (/api/, not found).

import "./shell.js";
