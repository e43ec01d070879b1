/* The version, which stands only here; CHANGELOG.md begins with it, CONTRIBUTING.md says when it changes. */
#ifndef XLAC_BASE_VERSION_H
#define XLAC_BASE_VERSION_H

#define XLAC_VERSION "0.1.0"

#endif
