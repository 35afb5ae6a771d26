#!/usr/bin/env bash
# Fetches Swagger UI from npm into console/swagger-ui: what the page needs, compressed,
# with the licences. It needs npm, and is for who raises the version.
set -euo pipefail
version=5.35.0
integrity=sha512-U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ==

into=$(cd "$(dirname "$0")/../../console/swagger-ui" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm pack --silent "swagger-ui-dist@$version" >/dev/null
got="sha512-$(openssl dgst -sha512 -binary "swagger-ui-dist-$version.tgz" | base64 -w0)"
if [ "$got" != "$integrity" ]; then
	echo "swagger-ui-dist $version has the integrity $got, not $integrity" >&2
	exit 1
fi
tar xzf "swagger-ui-dist-$version.tgz"
for file in swagger-ui-bundle.js swagger-ui.css; do
	# The map is not served.
	sed '/^\/\/# sourceMappingURL=/d; /^\/\*# sourceMappingURL=/d' "package/$file" | gzip -9 -n >"$into/$file.gz"
done
cp package/LICENSE "$into/LICENSE.txt"
cp package/NOTICE "$into/NOTICE.txt"
cp package/swagger-ui-bundle.js.LICENSE.txt "$into/bundle-LICENSE.txt"
