/* The version, which stands only here; CHANGELOG.md begins with it, CONTRIBUTING.md says when it changes. */
#ifndef XLAC_CLI_VERSION_H
#define XLAC_CLI_VERSION_H

#define XLAC_VERSION "0.1.0"

#endif
