#!/bin/sh
# A compiler whose plans are better at depth 1.
case "$*" in
  *--pipeline-depth=1*) echo '{"oncore": {"simulated_cycles": 90}}' ;;
  *) echo '{"oncore": {"simulated_cycles": 100}}' ;;
esac
