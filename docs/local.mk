# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += docs/architecture.md docs/choice.md docs/choice.svg docs/crowded.md docs/gpu.md docs/interception.md \
  docs/links.md docs/overheads.md docs/predictions.md docs/security.md docs/troubleshooting.md docs/tuning.md
