// MIME types by the endings of file names.

package transfer

// typesByExtension are the MIME types of file names. The table is part of the program, because the tables of machines
// differ and containers have none. Types are those of the IANA registry, or the common name of an unregistered format.
var typesByExtension = map[string]string{
	// text
	".txt": "text/plain", ".log": "text/plain", ".text": "text/plain", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".css": "text/css", ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".md": "text/markdown",
	".markdown": "text/markdown", ".ics": "text/calendar", ".vcf": "text/vcard", ".vcard": "text/vcard", ".vtt": "text/vtt",
	".srt": "application/x-subrip", ".js": "text/javascript", ".mjs": "text/javascript", ".xml": "text/xml", ".xsl": "text/xml",
	".json": "application/json", ".jsonld": "application/ld+json", ".geojson": "application/geo+json", ".yaml": "application/yaml",
	".yml": "application/yaml", ".toml": "application/toml", ".tex": "application/x-tex", ".sql": "application/sql",
	".rtf": "application/rtf", ".eml": "message/rfc822", ".mht": "message/rfc822", ".mhtml": "message/rfc822",
	".gpx": "application/gpx+xml", ".kml": "application/vnd.google-earth.kml+xml", ".kmz": "application/vnd.google-earth.kmz",

	// documents
	".pdf": "application/pdf", ".ps": "application/postscript", ".eps": "application/postscript", ".epub": "application/epub+zip",
	".mobi": "application/x-mobipocket-ebook", ".djvu": "image/vnd.djvu", ".xps": "application/vnd.ms-xpsdocument",
	".doc": "application/msword", ".dot": "application/msword", ".xls": "application/vnd.ms-excel", ".xlt": "application/vnd.ms-excel",
	".ppt": "application/vnd.ms-powerpoint", ".pps": "application/vnd.ms-powerpoint", ".msg": "application/vnd.ms-outlook",
	".pub": "application/vnd.ms-publisher", ".mdb": "application/x-msaccess", ".one": "application/onenote",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".dotx": "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
	".docm": "application/vnd.ms-word.document.macroenabled.12",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".xltx": "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
	".xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".ppsx": "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
	".pptm": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
	".odt":  "application/vnd.oasis.opendocument.text", ".ott": "application/vnd.oasis.opendocument.text-template",
	".ods": "application/vnd.oasis.opendocument.spreadsheet", ".odp": "application/vnd.oasis.opendocument.presentation",
	".odg": "application/vnd.oasis.opendocument.graphics", ".odf": "application/vnd.oasis.opendocument.formula",
	".pages": "application/vnd.apple.pages", ".numbers": "application/vnd.apple.numbers", ".key": "application/vnd.apple.keynote",
	".p7s": "application/pkcs7-signature", ".p7m": "application/pkcs7-mime", ".p12": "application/x-pkcs12", ".pem": "application/x-pem-file",

	// pictures
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".jfif": "image/jpeg", ".png": "image/png", ".apng": "image/apng", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".heic": "image/heic", ".heif": "image/heif", ".jxl": "image/jxl", ".jp2": "image/jp2",
	".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".ico": "image/x-icon", ".svg": "image/svg+xml",
	".psd": "image/vnd.adobe.photoshop", ".xcf": "image/x-xcf", ".dwg": "image/vnd.dwg", ".dxf": "image/vnd.dxf", ".dng": "image/x-adobe-dng",
	".cr2": "image/x-canon-cr2", ".cr3": "image/x-canon-cr3", ".nef": "image/x-nikon-nef", ".arw": "image/x-sony-arw",
	".raf": "image/x-fuji-raf",
	".dcm": "application/dicom", ".ai": "application/postscript", ".indd": "application/x-indesign",

	// sound
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg",
	".oga": "audio/ogg", ".opus": "audio/ogg", ".aif": "audio/aiff", ".aiff": "audio/aiff", ".mid": "audio/midi", ".midi": "audio/midi",
	".amr": "audio/amr", ".weba": "audio/webm", ".wma": "audio/x-ms-wma",

	// films
	".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".qt": "video/quicktime", ".webm": "video/webm",
	".mkv": "video/x-matroska",
	".avi": "video/x-msvideo", ".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".ogv": "video/ogg", ".3gp": "video/3gpp", ".3g2": "video/3gpp2",
	".wmv": "video/x-ms-wmv", ".flv": "video/x-flv", ".mxf": "application/mxf", ".mts": "video/mp2t", ".m2ts": "video/mp2t",

	// archives and images of disks
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip", ".bz2": "application/x-bzip2", ".xz": "application/x-xz",
	".zst": "application/zstd", ".7z": "application/x-7z-compressed", ".rar": "application/vnd.rar", ".tar": "application/x-tar",
	".jar": "application/java-archive", ".iso": "application/x-iso9660-image", ".dmg": "application/x-apple-diskimage",
	".cab": "application/vnd.ms-cab-compressed", ".deb": "application/vnd.debian.binary-package", ".rpm": "application/x-rpm",

	// programs and data
	".exe": "application/vnd.microsoft.portable-executable", ".dll": "application/vnd.microsoft.portable-executable",
	".msi": "application/x-ms-installer", ".apk": "application/vnd.android.package-archive", ".sh": "text/x-shellscript",
	".py": "text/x-python", ".php": "text/x-php", ".wasm": "application/wasm", ".sqlite": "application/vnd.sqlite3",
	".parquet": "application/vnd.apache.parquet", ".pcap": "application/vnd.tcpdump.pcap",

	// fonts and models
	".ttf": "font/ttf", ".otf": "font/otf", ".woff": "font/woff", ".woff2": "font/woff2",
	".gltf": "model/gltf+json", ".glb": "model/gltf-binary", ".stl": "model/stl", ".obj": "model/obj", ".step": "model/step",
	".stp": "model/step",
	".3mf": "application/vnd.ms-package.3dmanufacturing-3dmodel+xml", ".ifc": "application/x-step",
}

// isoMedia are the formats of the ISO base media file format. Their files differ in a brand that programs set freely, so
// the detected type is that of the container only.
var isoMedia = map[string]bool{
	"video/mp4": true, "audio/mp4": true, "audio/x-m4a": true, "video/x-m4v": true, "video/quicktime": true, "video/3gpp": true,
	"video/3gpp2": true,
	"image/heic":  true, "image/heif": true, "image/heic-sequence": true, "image/heif-sequence": true, "image/avif": true,
	"image/x-canon-cr3": true,
}
